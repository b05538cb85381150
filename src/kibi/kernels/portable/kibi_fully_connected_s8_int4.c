/* FULLY_CONNECTED with a filter of int4, int8, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_int4_4x1_s8.h"
#include "kibi_int4_s8.h"
#include "kibi_requantize.h"

/* The outputs of one vector; the first piece starts `offset` elements after its pointer. */
static void one_vector(int8_t *output, const int8_t *const *pieces, int32_t offset,
                       const kibi_fully_connected_s8_int4_params *p)
{
    const int32_t *w = KIBI_AT(int32_t, p, filter);
    uint32_t excess = 0;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        excess += kibi_int4_excess(pieces[piece] + offset, p->piece);
    }
    int32_t sums[KIBI_INT4_CHANNELS] = {0}; /* what is there for channels after the last one is of no use */
    for (int32_t o = 0; o < p->output_channels; o += KIBI_INT4_CHANNELS) {
        const int32_t count = kibi_int4_channels(p->output_channels - o);
        kibi_int4_start(sums, KIBI_AT(int32_t, p, bias) + o, count, excess);
        for (int32_t piece = 0; piece < p->pieces; ++piece) {
            kibi_dot_int4_4x1_s8(sums, w, pieces[piece] + offset, p->piece);
            w += kibi_int4_words(p->piece);
        }
        kibi_requantize_channels(output + o, sums, count, KIBI_AT(int32_t, p, multiplier) + o,
                                 KIBI_AT(int8_t, p, shift) + o, p->output_zero_point, p->activation_min,
                                 p->activation_max);
    }
}

void kibi_fully_connected_s8_int4(int8_t *output, const int8_t *const *rows,
                                  const kibi_fully_connected_s8_int4_params *params, void *scratch)
{
    const kibi_fully_connected_s8_int4_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->vectors_per_row == 1 || p->pieces == 1);
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        one_vector(output, rows, offset, p);
        output += p->output_channels;
        offset += p->piece;
        if (offset == p->vectors_per_row * p->piece) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
