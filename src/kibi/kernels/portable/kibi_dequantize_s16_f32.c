/* DEQUANTIZE, int8 to float, portable. Source of the rule: TFLM, reference/dequantize.h, Dequantize. */
#include "kibi_dequantize_s16_f32.h"

void kibi_dequantize_s16_f32(float *output, const int16_t *const *rows, const kibi_dequantize_s16_f32_params *params,
                            void *scratch)
{
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        /* 24 bits of scale times 17 bits: rounded once, as from double precision. */
        output[i] = params->scale * (float)(input[i] - params->zero_point);
    }
}
