/* LEAKY_RELU, int16, portable. Source of the rule: TFLM, reference/leaky_relu.h, QuantizeLeakyRelu. */
#include "kibi_leaky_relu_s16.h"

#include "kibi_requantize.h"

void kibi_leaky_relu_s16(int16_t *output, const int16_t *const *rows, const kibi_leaky_relu_s16_params *params, void *scratch)
{
    const kibi_leaky_relu_s16_params *const p = params;
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t centred = input[i] - p->zero_point;
        const int32_t scaled = centred >= 0 ? kibi_requantize(centred, p->multiplier, p->shift)
                                            : kibi_requantize(centred, p->alpha_multiplier, p->alpha_shift);
        const int32_t sign = centred >= 0 ? 1 : p->alpha_sign;
        const int32_t moved = kibi_wrapping_add(sign < 0 ? kibi_wrapping_add(~scaled, 1) : scaled, p->output_zero_point);
        output[i] = (int16_t)kibi_clamp(moved, INT16_MIN, INT16_MAX);
    }
}
