/* ELU, float, portable. Source of the rule: TFLM, reference/elu.h, Elu. */
#include "kibi_elu_f32.h"

#include "kibi_expm1_f32.h"

void kibi_elu_f32(float *output, const float *const *rows, const kibi_elu_f32_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = input[i] < 0.0f ? kibi_expm1_f32(input[i]) : input[i];
    }
}
