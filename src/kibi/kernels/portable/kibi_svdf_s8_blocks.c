/* SVDF of int8 from packed weights, portable. Source of the rule: TFLM, micro/kernels/svdf_common.cc. */
#include <string.h>

#include "kibi_requantize.h"
#include "kibi_svdf.h"

enum { BLOCK = 4 };

/* A sum, scaled. scale: the doubled multiplier, ~shift, twice what is added, plus 1. */
static int32_t scaled(uint32_t sum, const int32_t scale[3])
{
    const int32_t value = kibi_requantize((int32_t)sum, (int32_t)((uint32_t)scale[0] >> 1), ~scale[1]);
    return kibi_clamp(kibi_wrapping_add(value, scale[2] >> 1), -128, 127);
}

/* A sum, plus the products of up to four elements and the weights in a word. */
static uint32_t add_word(uint32_t sum, int32_t word, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count && k < 4; ++k) {
        const uint32_t byte = (uint32_t)word >> 8 * k;
        sum += (uint32_t)(((int32_t)(byte & 0x7Fu) - (int32_t)(byte & 0x80u)) * x[k]);
    }
    return sum;
}

/* The sums of four filters over the input. Returns the next word. */
static const int32_t *filter_sums(uint32_t sums[BLOCK], const int32_t *from, const int8_t *x, int32_t count)
{
    const int32_t whole = count - count % 4;
    for (int32_t o = 0; o < BLOCK; ++o) {
        sums[o] = (uint32_t)*from++;
    }
    for (int32_t o = 0; whole < count && o < BLOCK; ++o) {
        sums[o] = add_word(sums[o], *from++, x + whole, count - whole);
    }
    for (int32_t k = 0; k < whole; k += 4) {
        for (int32_t o = 0; o < BLOCK; ++o) {
            sums[o] = add_word(sums[o], *from++, x + k, 4);
        }
    }
    return from;
}

/* The sum of what a filter keeps, its newest result among it. from: the weights of all but the last eight, the word that the sum starts
 * from, the last two words of weights. Returns the next word. */
static const int32_t *kept_sum(uint32_t *sum, const int32_t *from, const int8_t *state, int32_t memory)
{
    const int32_t first = memory - 8;
    *sum = (uint32_t)from[first / 4];
    for (int32_t k = 0; k < memory; k += 4) {
        *sum = add_word(*sum, from[k / 4 + (k < first ? 0 : 1)], state + k, 4);
    }
    return from + memory / 4 + 1;
}

void kibi_svdf_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_svdf_s8_blocks_params *const p = params;
    const int32_t *const scales = KIBI_AT(int32_t, p, scales);
    const int8_t *x = rows[0];
    int8_t *state = (int8_t *)states[0];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int32_t *from = KIBI_AT(int32_t, p, weights);
        for (int32_t unit = 0; unit < p->units; unit += BLOCK) {
            uint32_t sums[BLOCK];
            from = filter_sums(sums, from, x, p->depth);
            for (int32_t o = 0; o < BLOCK; ++o) {
                uint32_t sum;
                (void)memmove(state, state + 1, (size_t)p->memory - 1u);
                state[p->memory - 1] = (int8_t)(scaled(sums[o], scales) + p->state_zero_point);
                from = kept_sum(&sum, from, state, p->memory);
                *output++ = (int8_t)scaled(sum, scales + 3);
                state += p->memory;
            }
        }
        x += p->depth;
    }
}
