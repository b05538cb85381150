/* CAST, uint8 or bool to uint32, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_u8_u32.h"

void kibi_cast_u8_u32(uint32_t *output, const uint8_t *const *rows, const kibi_cast_u8_u32_params *params, void *scratch)
{
    const uint8_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (uint32_t)input[i];
    }
}
