/* FULLY_CONNECTED, int8, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected_s8.h"

#include "kibi_dot_1x1_s8.h"
#include "kibi_dot_4x1_s8.h"
#include "kibi_requantize.h"

static void finish(int8_t *output, const int32_t *sums, const kibi_fully_connected_s8_params *p, int32_t channel, int32_t end)
{
    const int32_t *const multiplier = p->multiplier;
    const int8_t *const shift = p->shift;
    const int32_t zero_point = p->output_zero_point;
    const int32_t low = p->activation_min;
    const int32_t high = p->activation_max;
    for (; channel < end; ++channel) {
        const int32_t scaled = kibi_requantize(*sums++, multiplier[channel], shift[channel]);
        output[channel] = (int8_t)kibi_clamp(scaled + zero_point, low, high);
    }
}

/* Sums of four output channels, or of one, over an input vector in pieces; the first starts `offset` elements behind its
 * pointer. */
static inline void sum_pieces(int32_t sums[4], int32_t block, int32_t o, const int8_t *const *pieces, int32_t offset,
                              const kibi_fully_connected_s8_params *p)
{
    const int8_t *w = p->filter + o * p->depth;
    const int32_t *start = p->bias + o;
    int32_t left = p->depth;
    do {
        const int8_t *const x = *pieces++ + offset;
        if (block == 4) {
            kibi_dot_4x1_s8(sums, start, w, p->depth, x, p->piece);
        } else {
            sums[0] = kibi_dot_1x1_s8(*start, w, x, p->piece);
        }
        start = sums;
        w += p->piece;
        left -= p->piece;
    } while (left > 0);
}

/* One output vector. */
static void one_vector(int8_t *output, const int8_t *const *pieces, int32_t offset, const kibi_fully_connected_s8_params *p)
{
    int32_t sums[4];
    int32_t block = 4;
    for (int32_t o = 0; o < p->output_channels; o += block) {
        block = o + 4 <= p->output_channels ? 4 : 1;
        sum_pieces(sums, block, o, pieces, offset, p);
        finish(output, sums, p, o, o + block);
    }
}

void kibi_fully_connected_s8(int8_t *output, const int8_t *const *rows, const kibi_fully_connected_s8_params *params,
                             void *scratch)
{
    const kibi_fully_connected_s8_params *const p = params;
    (void)scratch;
    KIBI_ASSERT(p->vectors_per_row == 1 || p->piece == p->depth);
    for (int32_t done = 0; done < p->vectors; done += p->vectors_per_row) {
        for (int32_t i = 0; i < p->vectors_per_row; ++i) {
            one_vector(output, rows, i * p->depth, p);
            output += p->output_channels;
        }
        for (int32_t used = 0; used < p->depth; used += p->piece) {
            ++rows;
        }
    }
}
