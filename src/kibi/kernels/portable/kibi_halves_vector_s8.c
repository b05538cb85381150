/* All output channels of an input vector, portable: what the words of weights mean. */
#include "kibi_halves_vector_s8.h"

#include "kibi_requantize.h"

enum { BLOCK = 8 };

/* The weight in a byte of a word. */
static inline uint32_t weight_at(uint32_t word, int32_t bit)
{
    return (word >> bit & 0xFFu) - 128u;
}

/* Adds the products of an element. */
static inline void add_element(uint32_t sums[BLOCK], const int32_t *w, const int8_t *x)
{
    const uint32_t value = (uint32_t)(int32_t)*x;
    for (int32_t channel = 0; channel < BLOCK; ++channel) {
        sums[channel] += weight_at((uint32_t)w[channel / 4], 8 * (channel % 4)) * value;
    }
}

/* Adds the products of all pieces; returns the next block's weights. */
static const int32_t *add_pieces(uint32_t sums[BLOCK], const kibi_halves_vector *v)
{
    const int32_t *w = v->filter;
    for (const int8_t *const *piece = v->pieces; piece != v->pieces_end; ++piece) {
        for (int32_t i = 0; i < v->piece; ++i) {
            add_element(sums, w, *piece + v->offset + i);
            w += BLOCK / 4;
        }
    }
    return w;
}

void kibi_halves_vector_s8(kibi_halves_vector *vector)
{
    kibi_halves_vector *const v = vector;
    while (v->channels > 0) {
        const int32_t count = v->channels < BLOCK ? v->channels : (int32_t)BLOCK;
        uint32_t sums[BLOCK];
        for (int32_t i = 0; i < BLOCK; ++i) {
            sums[i] = (uint32_t)v->bias[i];
        }
        v->filter = add_pieces(sums, v);
        kibi_requantize_channels(v->output, (const int32_t *)sums, count, v->multiplier, v->shift, (v->rounding - 1) / 2, v->low,
                                 v->high);
        v->bias += BLOCK;
        v->multiplier += count;
        v->shift += count;
        v->output += count;
        v->channels -= count;
    }
}
