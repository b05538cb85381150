/* RELU6, float, portable. Source of the rule: TFLM, micro/kernels/activations_common.cc, Relu6Float. */
#include "kibi_relu6_f32.h"

void kibi_relu6_f32(float *output, const float *const *rows, const kibi_relu6_f32_params *params, void *scratch)
{
    const kibi_relu6_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const float raised = input[i] < 0.0f ? 0.0f : input[i];
        output[i] = input[i] > 6.0f ? 6.0f : raised;
    }
}
