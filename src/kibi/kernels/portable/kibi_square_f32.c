/* SQUARE, float, portable. Source of the rule: TFLM, micro/kernels/elementwise.cc, SquareEval. */
#include "kibi_square_f32.h"

void kibi_square_f32(float *output, const float *const *rows, const kibi_square_f32_params *params, void *scratch)
{
    const kibi_square_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = input[i] * input[i];
    }
}
