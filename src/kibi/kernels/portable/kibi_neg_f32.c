/* NEG, float, portable. Source of the rule: TFLM, reference/neg.h, Negate. */
#include "kibi_neg_f32.h"

void kibi_neg_f32(float *output, const float *const *rows, const kibi_neg_f32_params *params, void *scratch)
{
    const kibi_neg_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = -input[i];
    }
}
