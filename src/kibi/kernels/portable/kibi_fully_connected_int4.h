/* Fully connected layers with a filter of int4: what the kernels for both forms of words share. */
#ifndef KIBI_FULLY_CONNECTED_INT4_H
#define KIBI_FULLY_CONNECTED_INT4_H

#include "kibi_fully_connected.h"
#include "kibi_int4_s8.h"
#include "kibi_requantize.h"

/* Adds the products of `count` elements with a block's weights; returns what is after these. */
typedef const int32_t *kibi_int4_piece(int32_t sums[4], const int32_t *w, const int8_t *x, int32_t count);

/* Writes what the sums of `count` channels start from. is_fours: true if the words are for four elements. */
static inline void kibi_int4_begin(int32_t sums[4], const int32_t *start, int32_t count, uint32_t excess, int is_fours)
{
    kibi_int4_start(sums, start, count, excess);
    if (is_fours != 0) {
        sums[3] = (int32_t)((uint32_t)sums[3] + excess);
    }
}

/* The outputs of one vector; the first piece starts `offset` elements after its pointer. */
static inline void kibi_int4_vector(int8_t *output, const int8_t *const *pieces, int32_t offset,
                                    const kibi_fully_connected_s8_int4_params *p, kibi_int4_piece *add, int is_fours)
{
    const int32_t *w = KIBI_AT(int32_t, p, filter);
    uint32_t excess = 0;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        excess += kibi_int4_excess(pieces[piece] + offset, p->piece);
    }
    int32_t sums[KIBI_INT4_CHANNELS] = {0}; /* what is there for channels after the last one is of no use */
    for (int32_t o = 0; o < p->output_channels; o += KIBI_INT4_CHANNELS) {
        const int32_t count = kibi_int4_channels(p->output_channels - o);
        kibi_int4_begin(sums, KIBI_AT(int32_t, p, bias) + o, count, excess, is_fours);
        for (int32_t piece = 0; piece < p->pieces; ++piece) {
            w = add(sums, w, pieces[piece] + offset, p->piece);
        }
        kibi_requantize_channels(output + o, sums, count, KIBI_AT(int32_t, p, multiplier) + o,
                                 KIBI_AT(int8_t, p, shift) + o, p->output_zero_point, p->activation_min,
                                 p->activation_max);
    }
}

/* The output vectors of one step. */
static inline void kibi_int4_vectors(int8_t *output, const int8_t *const *rows, const kibi_fully_connected_s8_int4_params *p,
                                     kibi_int4_piece *add, int is_fours)
{
    int32_t offset = 0;
    KIBI_ASSERT(p->vectors_per_row == 1 || p->pieces == 1);
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        kibi_int4_vector(output, rows, offset, p, add, is_fours);
        output += p->output_channels;
        offset += p->piece;
        if (offset == p->vectors_per_row * p->piece) {
            offset = 0;
            rows += p->pieces;
        }
    }
}

/* A row of a vector, which has so many words of a block's weights; the last one writes the output. */
static inline void kibi_int4_row(int8_t *output, const int8_t *row, const kibi_fully_connected_s8_int4_accumulate_params *p,
                                 int32_t *sums, int32_t step, int32_t words, kibi_int4_piece *add, int is_fours)
{
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    const int32_t *w = KIBI_AT(int32_t, p, filter) + piece * words;
    int32_t *const kept = sums + vector * p->output_channels;
    const int32_t *const start = piece == 0 ? KIBI_AT(int32_t, p, bias) : kept;
    const uint32_t excess = kibi_int4_excess(row, p->piece);
    int32_t block[KIBI_INT4_CHANNELS] = {0}; /* what is there for channels after the last one is of no use */
    KIBI_ASSERT(sums != NULL && (uintptr_t)sums % sizeof(int32_t) == 0 && vector >= 0 && vector < p->vectors);
    for (int32_t o = 0; o < p->output_channels; o += KIBI_INT4_CHANNELS) {
        const int32_t count = kibi_int4_channels(p->output_channels - o);
        kibi_int4_begin(block, start + o, count, excess, is_fours);
        w = add(block, w, row, p->piece) + (p->pieces - 1) * words;
        for (int32_t i = 0; i < count; ++i) {
            kept[o + i] = block[i];
        }
    }
    if (step == p->vectors * p->pieces - 1) {
        for (int32_t i = 0; i < p->vectors; ++i) {
            kibi_requantize_channels(output, sums, p->output_channels, KIBI_AT(int32_t, p, multiplier),
                                     KIBI_AT(int8_t, p, shift), p->output_zero_point, p->activation_min,
                                     p->activation_max);
            sums += p->output_channels;
            output += p->output_channels;
        }
    }
}

#endif
