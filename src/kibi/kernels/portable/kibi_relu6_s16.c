/* RELU6, int16, portable. Source of the rule: TFLM, micro/kernels/activations.h, Relu6Quantized. */
#include "kibi_relu6_s16.h"

#include "kibi_requantize.h"

void kibi_relu6_s16(int16_t *output, const int16_t *const *rows, const kibi_relu6_s16_params *params, void *scratch)
{
    const kibi_relu6_s16_params *const p = params;
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = (int16_t)kibi_clamp(input[i], p->zero_point, p->six);
    }
}
