/* QUANTIZE from f32 to s8, for cores with the DSP extension. Source of the rule: TFLM, reference/quantize.h, AffineQuantize. */
#include "kibi_quantize.h"

#include "kibi_dsp.h"
#include "kibi_quotient_f32.h"

/* Twice the value, cut towards zero, then to 16 bits; 0 for a NaN. Its last bit is 1 where the value ends in a half or more. */
static inline int32_t halves(float value)
{
    int32_t found;
#ifdef __ARM_FP
    __asm__("vcvt.s32.f32 %1, %1, #1\n\t" /* saturates */
            "vmov %0, %1\n\t"
            "ssat %0, #16, %0"
            : "=r"(found), "+t"(value));
#else
    const float low = value > 16383.0f ? 16383.0f : value;
    const float inside = low < -16383.0f ? -16383.0f : low;
    found = inside != inside ? 0 : (int32_t)(inside * 2.0f);
#endif
    return found;
}

void kibi_quantize_f32_s8(int8_t *output, const float *const *rows, const kibi_quantize_f32_params *params, void *scratch)
{
    const float scale = params->scale;
    const int32_t moved = 2 * params->zero_point + 1;
    const float *input = rows[0];
    const int8_t *const end = output + params->elements;
    (void)scratch;
    KIBI_UNROLL_TWICE
    while (output != end) {
        /* Half away from zero: 1 is taken from what is negative, then half goes up. */
        int32_t twice = halves(KIBI_QUOTIENT(*input++, scale));
        twice += twice >> 31;
        twice += moved;
        __asm__("ssat %0, #8, %0, asr #1" : "+r"(twice));
        *output++ = (int8_t)twice;
    }
}
