/* CAST, float to float, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_f32_f32.h"

void kibi_cast_f32_f32(float *output, const float *const *rows, const kibi_cast_f32_f32_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = input[i];
    }
}
