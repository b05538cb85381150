/* CAST, uint32 to float, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_u32_f32.h"

void kibi_cast_u32_f32(float *output, const uint32_t *const *rows, const kibi_cast_u32_f32_params *params, void *scratch)
{
    const uint32_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (float)input[i];
    }
}
