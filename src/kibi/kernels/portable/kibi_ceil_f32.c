/* CEIL, float, portable. Source of the rule: TFLM, reference/ceil.h, Ceil. */
#include "kibi_ceil_f32.h"

#include "kibi_float_bits.h"

void kibi_ceil_f32(float *output, const float *const *rows, const kibi_ceil_f32_params *params, void *scratch)
{
    const kibi_ceil_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = -kibi_floor(-input[i]);
    }
}
