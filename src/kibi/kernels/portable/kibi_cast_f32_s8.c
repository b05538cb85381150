/* CAST, float to int8, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_f32_s8.h"

#include "kibi_truncate.h"

void kibi_cast_f32_s8(int8_t *output, const float *const *rows, const kibi_cast_f32_s8_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (int8_t)kibi_truncate(input[i], INT8_MIN, INT8_MAX);
    }
}
