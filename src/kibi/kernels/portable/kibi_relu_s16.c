/* RELU, int16, portable. Source of the rule: TFLM, micro/kernels/activations.h, ReluQuantized. */
#include "kibi_relu_s16.h"

#include "kibi_requantize.h"

void kibi_relu_s16(int16_t *output, const int16_t *const *rows, const kibi_relu_s16_params *params, void *scratch)
{
    const kibi_relu_s16_params *const p = params;
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t scaled = kibi_requantize(input[i], p->multiplier, p->shift);
        output[i] = (int16_t)kibi_clamp(scaled, 0, INT16_MAX);
    }
}
