/* CAST, int32 to int32, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_cast_s32_s32.h"

void kibi_cast_s32_s32(int32_t *output, const int32_t *const *rows, const kibi_cast_s32_s32_params *params, void *scratch)
{
    const int32_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = input[i];
    }
}
