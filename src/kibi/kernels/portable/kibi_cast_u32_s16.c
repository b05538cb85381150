/* CAST, uint32 to int16, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_u32_s16.h"

void kibi_cast_u32_s16(int16_t *output, const uint32_t *const *rows, const kibi_cast_u32_s16_params *params, void *scratch)
{
    const uint32_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (int16_t)input[i];
    }
}
