/* CAST, float to uint32, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_f32_u32.h"

#include "kibi_truncate.h"

void kibi_cast_f32_u32(uint32_t *output, const float *const *rows, const kibi_cast_f32_u32_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = kibi_truncate_u32(input[i]);
    }
}
