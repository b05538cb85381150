/* QUANTIZE, int8 to uint8, portable. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_quantize_s8_u8.h"

#include "kibi_requantize.h"

void kibi_quantize_s8_u8(uint8_t *output, const int8_t *const *rows, const kibi_quantize_s8_u8_params *params,
                         void *scratch)
{
    const kibi_quantize_s8_u8_params *const p = params;
    const int8_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t scaled = kibi_requantize(input[i] - p->zero_point, p->multiplier, p->shift);
        output[i] = (uint8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), 0, 255);
    }
}
