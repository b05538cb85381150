/* FULLY_CONNECTED, int8, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_1x1_s8.h"
#include "kibi_dot_4x1_s8.h"
#include "kibi_requantize.h"

static void finish(int8_t *output, const int32_t *sums, const kibi_fully_connected_s8_params *p, int32_t channel,
                   int32_t count)
{
    kibi_requantize_channels(output + channel, sums, count, KIBI_AT(int32_t, p, multiplier) + channel,
                             KIBI_AT(int8_t, p, shift) + channel, p->output_zero_point, p->activation_min,
                             p->activation_max);
}

/* Sums of four output channels, or of one, over an input vector in pieces; the first starts `offset` elements after its
 * pointer. */
static inline void sum_pieces(int32_t sums[4], int32_t block, int32_t o, const int8_t *const *pieces, int32_t offset,
                              const kibi_fully_connected_s8_params *p)
{
    const int8_t *w = KIBI_AT(int8_t, p, filter) + o * p->depth;
    const int32_t *start = KIBI_AT(int32_t, p, bias) + o;
    int32_t left = p->pieces;
    do {
        const int8_t *const x = *pieces++ + offset;
        if (block == 4) {
            kibi_dot_4x1_s8(sums, start, w, p->depth, x, p->piece);
        } else {
            sums[0] = kibi_dot_1x1_s8(*start, w, x, p->piece);
        }
        start = sums;
        w += p->piece;
    } while (--left != 0);
}

void kibi_fully_connected_s8(int8_t *output, const int8_t *const *rows, const kibi_fully_connected_s8_params *params,
                             void *scratch)
{
    const kibi_fully_connected_s8_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->piece * p->pieces == p->depth && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        int32_t sums[4];
        int32_t block = 4;
        for (int32_t o = 0; o < p->output_channels; o += block) {
            block = o + 4 <= p->output_channels ? 4 : 1;
            sum_pieces(sums, block, o, rows, offset, p);
            finish(output, sums, p, o, block);
        }
        output += p->output_channels;
        offset += p->depth;
        if (offset == p->vectors_per_row * p->depth) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
