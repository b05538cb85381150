/* FULLY_CONNECTED, int8, two output channels in the halves of a word. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_add_vector_halves_s8.h"
#include "kibi_requantize.h"

enum { BLOCK = 8, FLAGS = 32 };

/* Sums of eight channels over an input vector in pieces; the first starts `offset` elements after its pointer. Returns the next block's
 * weights. */
static const int32_t *sum_block(uint32_t sums[BLOCK], const int32_t *w, const uint32_t *breaks, const int32_t *bias,
                                const int8_t *const *pieces, int32_t offset, const kibi_fully_connected_s8_halves_params *p)
{
    int32_t done = 0;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *x = pieces[piece] + offset;
        int32_t left = p->piece / 2;
        do {
            const int32_t room = FLAGS - done % FLAGS;
            const int32_t steps = left < room ? left : room;
            kibi_add_vector_halves_s8(sums, w, x, steps, breaks[done / FLAGS] << done % FLAGS, bias);
            bias = NULL;
            w += steps * (BLOCK / 2);
            x += 2 * steps;
            done += steps;
            left -= steps;
        } while (left != 0);
    }
    return w;
}

void kibi_fully_connected_s8_halves(int8_t *output, const int8_t *const *rows,
                                    const kibi_fully_connected_s8_halves_params *params, void *scratch)
{
    const kibi_fully_connected_s8_halves_params *const p = params;
    const int32_t words = (p->piece / 2 * p->pieces + FLAGS - 1) / FLAGS;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->piece % 2 == 0 && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        const int32_t *w = KIBI_AT(int32_t, p, filter);
        const uint32_t *breaks = (const uint32_t *)KIBI_AT(int32_t, p, breaks);
        for (int32_t o = 0; o < p->output_channels; o += BLOCK) {
            const int32_t left = p->output_channels - o;
            const int32_t count = left < BLOCK ? left : (int32_t)BLOCK;
            uint32_t sums[BLOCK];
            w = sum_block(sums, w, breaks, KIBI_AT(int32_t, p, bias) + o, rows, offset, p);
            breaks += words;
            kibi_requantize_channels(output + o, (const int32_t *)sums, count,
                                     KIBI_AT(int32_t, p, multiplier) + o, KIBI_AT(int8_t, p, shift) + o,
                                     p->output_zero_point, p->activation_min, p->activation_max);
        }
        output += p->output_channels;
        offset += p->piece;
        if (offset == p->vectors_per_row * p->piece) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
