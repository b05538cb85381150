/* TANH, float, portable. Source of the rule: TFLM, reference/tanh.h, Tanh. */
#include "kibi_tanh_f32.h"

#include "kibi_hyperbolic_tangent_f32.h"

void kibi_tanh_f32(float *output, const float *const *rows, const kibi_tanh_f32_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = kibi_hyperbolic_tangent_f32(input[i]);
    }
}
