/* LEAKY_RELU, float, portable. Source of the rule: TFLM, reference/leaky_relu.h, LeakyRelu. */
#include "kibi_leaky_relu_f32.h"

void kibi_leaky_relu_f32(float *output, const float *const *rows, const kibi_leaky_relu_f32_params *params, void *scratch)
{
    const kibi_leaky_relu_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = input[i] > 0.0f ? input[i] : input[i] * p->alpha;
    }
}
