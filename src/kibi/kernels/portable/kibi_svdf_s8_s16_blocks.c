/* SVDF of int8 with a memory of int16 from packed weights, portable. Source of the rule: TFLM, micro/kernels/svdf_common.cc. */
#include "kibi_requantize.h"
#include "kibi_svdf_blocks.h"

/* Half a word, as a number: 0 the lower. */
static int32_t half(int32_t word, int32_t upper)
{
    return (int16_t)((uint32_t)word >> (16 * upper));
}

/* The newest result takes the last place of a filter's memory, and all others move one place forward. Returns the sum of what is kept,
 * times its weights. from: the word that the sum starts from, then two weights to a word. */
static int32_t kept_sum(const int32_t *from, int16_t *state, int32_t memory, int32_t newest)
{
    uint32_t sum = (uint32_t)from[0];
    for (int32_t k = 0; k < memory; ++k) {
        state[k] = k + 1 < memory ? state[k + 1] : (int16_t)newest;
        sum += (uint32_t)(half(from[1 + k / 2], k % 2) * state[k]);
    }
    return (int32_t)sum;
}

void kibi_svdf_s8_s16_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_s16_blocks_params *params, void *scratch,
                             void *const *states)
{
    const kibi_svdf_s8_s16_blocks_params *const p = params;
    const int8_t *x = rows[0];
    int16_t *state = (int16_t *)states[0];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int32_t *from = KIBI_AT(int32_t, p, weights);
        for (int32_t unit = 0; unit < p->units; unit += KIBI_SVDF_BLOCK) {
            uint32_t sums[KIBI_SVDF_BLOCK];
            from = kibi_svdf_filter_sums(sums, from, x, p->depth);
            for (int32_t o = 0; o < KIBI_SVDF_BLOCK; ++o) {
                const int32_t result = kibi_requantize((int32_t)sums[o] >> 8, p->result_multiplier, p->result_shift);
                const int32_t sum = kept_sum(from, state, p->memory, kibi_clamp(result, -32768, 32767));
                const int32_t value = kibi_requantize(sum, p->output_multiplier, p->output_shift);
                *output++ = (int8_t)kibi_clamp(kibi_wrapping_add(value, p->output_zero_point), -128, 127);
                from += 1 + p->memory / 2;
                state += p->memory;
            }
        }
        x += p->depth;
    }
}
