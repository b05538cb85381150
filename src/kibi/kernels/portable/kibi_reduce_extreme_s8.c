/* REDUCE_MAX and REDUCE_MIN, int8, portable. Source of the rule: TFLM, reference/reduce.h, ReduceGeneric. */
#include "kibi_reduction.h"

#include <string.h>

void kibi_reduce_extreme_s8(int8_t *output, const int8_t *const *rows, const kibi_reduce_extreme_params *params,
                            void *scratch, int32_t step)
{
    const kibi_reduce_extreme_params *const p = params;
    int8_t *const extremes = (int8_t *)scratch;
    const int8_t *input = rows[0];
    KIBI_ASSERT(extremes != NULL && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            extremes[o] = p->is_max ? INT8_MIN : INT8_MAX;
        }
    }
    int8_t *const start = extremes + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        int8_t *grown = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            const int8_t value = *input++;
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
