/* CAST, float to int32, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_f32_s32.h"

#include "kibi_truncate.h"

void kibi_cast_f32_s32(int32_t *output, const float *const *rows, const kibi_cast_f32_s32_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = kibi_truncate(input[i], INT32_MIN, INT32_MAX);
    }
}
