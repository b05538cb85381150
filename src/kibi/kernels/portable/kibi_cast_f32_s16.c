/* CAST, float to int16, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_f32_s16.h"

#include "kibi_truncate.h"

void kibi_cast_f32_s16(int16_t *output, const float *const *rows, const kibi_cast_f32_s16_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (int16_t)kibi_truncate(input[i], INT16_MIN, INT16_MAX);
    }
}
