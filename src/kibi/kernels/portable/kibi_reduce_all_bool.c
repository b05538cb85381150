/* REDUCE_ALL, portable. Source of the rule: TFLM, micro/kernels/reduce_common.cc, EvalAllHelper. */
#include "kibi_reduction.h"

#include <string.h>

void kibi_reduce_all_bool(uint8_t *output, const uint8_t *const *rows, const kibi_reduction_params *params,
                          void *scratch, int32_t step)
{
    const kibi_reduction_params *const p = params;
    uint8_t *const all = (uint8_t *)scratch;
    const uint8_t *input = rows[0];
    KIBI_ASSERT(all != NULL && step >= 0 && step < p->steps);
    if (step == 0) {
        (void)memset(all, 1, (size_t)p->output_elements);
    }
    uint8_t *const start = all + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        uint8_t *grown = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            if (*input++ == 0) {
                *grown = 0;
            }
            grown += p->step3;
        }
    }
    if (step == p->steps - 1) {
        (void)memcpy(output, all, (size_t)p->output_elements);
    }
}
