/* REDUCE_MAX and REDUCE_MIN, float, portable. Source of the rule: TFLM, reference/reduce.h, ReduceGeneric. */
#include "kibi_reduction.h"

#include <float.h>
#include <string.h>

void kibi_reduce_extreme_f32(float *output, const float *const *rows, const kibi_reduce_extreme_params *params,
                             void *scratch, int32_t step)
{
    const kibi_reduce_extreme_params *const p = params;
    float *const extremes = (float *)scratch;
    const float *input = rows[0];
    KIBI_ASSERT(extremes != NULL && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            extremes[o] = p->is_max ? -FLT_MAX : FLT_MAX;
        }
    }
    float *const start = extremes + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        float *grown = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            const float value = *input++;
            if (p->is_max ? value > *grown : value < *grown) {
                *grown = value;
            }
            grown += p->step3;
        }
    }
    if (step == p->steps - 1) {
        memcpy(output, extremes, (size_t)p->output_elements * sizeof(*output));
    }
}
