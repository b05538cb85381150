/* SUM, float, portable. Source of the rule: TFLM, reference/reduce.h, ReduceGeneric. */
#include "kibi_reduction.h"

#include <string.h>

void kibi_sum_f32(float *output, const float *const *rows, const kibi_reduction_params *params, void *scratch,
                  int32_t step)
{
    const kibi_reduction_params *const p = params;
    float *const sums = (float *)scratch;
    const float *input = rows[0];
    KIBI_ASSERT(sums != NULL && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            sums[o] = 0.0f;
        }
    }
    float *const start = sums + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        float *grown = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            *grown += *input++;
            grown += p->step3;
        }
    }
    if (step == p->steps - 1) {
        memcpy(output, sums, (size_t)p->output_elements * sizeof(*output));
    }
}
