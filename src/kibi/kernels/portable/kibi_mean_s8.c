/* MEAN, int8, portable. Source of the rule: TFLM, reference/reduce.h, QuantizedMeanOrSum. */
#include "kibi_mean_s8.h"

#include "kibi_requantize.h"

void kibi_mean_s8(int8_t *output, const int8_t *const *rows, const kibi_mean_s8_params *params, void *scratch, int32_t step)
{
    const kibi_mean_s8_params *const p = params;
    int32_t *const sums = (int32_t *)scratch;
    const int8_t *input = rows[0];
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            sums[o] = p->start;
        }
    }
    int32_t *const start = sums + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        int32_t *sum = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            *sum = kibi_wrapping_add(*sum, *input++);
            sum += p->step3;
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            const int32_t mean = kibi_requantize(sums[o], p->multiplier, p->shift);
            output[o] = (int8_t)kibi_clamp(kibi_wrapping_add(mean, p->output_zero_point), -128, 127);
        }
    }
}
