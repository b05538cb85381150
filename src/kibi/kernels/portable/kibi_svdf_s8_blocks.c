/* SVDF of int8 from packed weights, portable. Source of the rule: TFLM, micro/kernels/svdf_common.cc. */
#include <string.h>

#include "kibi_requantize.h"
#include "kibi_svdf_blocks.h"

enum { RESULT_BITS = 12, OUTPUT_BITS = 8 };

/* The high half of a sum times a factor: rule N55. */
static int32_t product(uint32_t sum, int32_t factor)
{
    return (int32_t)((int64_t)(int32_t)sum * factor >> 32);
}

/* A filter's newest result, from 256 times its sum. */
static int32_t result_of(uint32_t sum, const kibi_svdf_s8_blocks_params *p)
{
    const int32_t added = (int32_t)sum < 0 ? 0 : p->result_switch;
    return kibi_clamp((added + product(sum, p->result_factor)) >> RESULT_BITS, -128, 127);
}

/* The same of an output: five bits of the switch count, and only where a sum has no minus. */
static int32_t output_of(uint32_t sum, const kibi_svdf_s8_blocks_params *p)
{
    const int32_t added = (int32_t)((uint32_t)p->output_switch & ~(sum >> 27));
    return kibi_clamp((added + product(sum, p->output_factor)) >> OUTPUT_BITS, -128, 127);
}

/* The sum of what a filter keeps, its newest result among it. from: the weights of all but the last eight, the word that the sum starts
 * from, the last two words of weights. Returns the next word. */
static const int32_t *kept_sum(uint32_t *sum, const int32_t *from, const int8_t *state, int32_t memory)
{
    const int32_t first = memory - 8;
    *sum = (uint32_t)from[first / 4];
    for (int32_t k = 0; k < memory; k += 4) {
        *sum = kibi_svdf_add_word(*sum, (uint32_t)from[k / 4 + (k < first ? 0 : 1)], state + k, 4);
    }
    return from + memory / 4 + 1;
}

void kibi_svdf_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_svdf_s8_blocks_params *const p = params;
    const int8_t *x = rows[0];
    int8_t *state = (int8_t *)states[0];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int32_t *from = KIBI_AT(int32_t, p, weights);
        for (int32_t unit = 0; unit < p->units; unit += KIBI_SVDF_BLOCK) {
            uint32_t sums[KIBI_SVDF_BLOCK];
            from = kibi_svdf_filter_sums(sums, from, x, p->depth);
            for (int32_t o = 0; o < KIBI_SVDF_BLOCK; ++o) {
                uint32_t sum;
                (void)memmove(state, state + 1, (size_t)p->memory - 1u);
                state[p->memory - 1] = (int8_t)(result_of(sums[o], p) + p->state_zero_point);
                from = kept_sum(&sum, from, state, p->memory);
                *output++ = (int8_t)output_of(sum, p);
                state += p->memory;
            }
        }
        x += p->depth;
    }
}
