/* SIN, float, portable. Source of the rule: TFLM, micro/kernels/elementwise.cc, SinEval. */
#include "kibi_sin_f32.h"

#include "kibi_circular_f32.h"

void kibi_sin_f32(float *output, const float *const *rows, const kibi_sin_f32_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = kibi_circular_f32(input[i], 0);
    }
}
