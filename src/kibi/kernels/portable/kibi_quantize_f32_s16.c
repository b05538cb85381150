/* QUANTIZE, float to int16, portable. Source of the rule: TFLM, reference/quantize.h, AffineQuantize. */
#include "kibi_quantize_f32_s16.h"

#include "kibi_quotient_f32.h"
#include "kibi_requantize.h"

/* Rounded half away from zero. value: -131072 … 131072, where all halves are exact. */
static int32_t round_half_away(float value)
{
    const int32_t whole = (int32_t)value;
    const float rest = value - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

void kibi_quantize_f32_s16(int16_t *output, const float *const *rows, const kibi_quantize_f32_s16_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        float quotient = KIBI_QUOTIENT(input[i], params->scale);
        /* Beyond these bounds every value is clamped; inside them the conversion is defined. */
        quotient = quotient > 131072.0f ? 131072.0f : quotient;
        quotient = quotient < -131072.0f ? -131072.0f : quotient;
        const int32_t centred = quotient == quotient ? round_half_away(quotient) : 0;
        output[i] = (int16_t)kibi_clamp(centred + params->zero_point, INT16_MIN, INT16_MAX);
    }
}
