/* QUANTIZE from s16 to s8, for cores with the DSP extension. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_quantize.h"

#include "kibi_requantize.h"

/* All elements, where scales shift to the right. Twice an element fits 32 bits, so that the high half of its product with the
 * multiplier is that of rule N2. */
static inline void to_the_right(int8_t *output, const int16_t *input, const kibi_requantize_params *p)
{
    const int8_t *const end = output + p->elements;
    const int32_t zero_point = 2 * p->zero_point;
    const int32_t moved = 2 * p->output_zero_point + 1;
    const int32_t multiplier = p->multiplier;
    const int32_t shift = ~p->shift;
    KIBI_UNROLL_TWICE
    while (output != end) {
        int32_t value = 2 * *input++ - zero_point;
        __asm__("smmulr %0, %0, %1" : "+r"(value) : "r"(multiplier));
        /* Half away from zero: 1 is taken from what is negative, then half goes up. */
        value += value >> 31;
        value = (value >> shift) + moved;
        __asm__("ssat %0, #8, %0, asr #1" : "+r"(value));
        *output++ = (int8_t)value;
    }
}

void kibi_quantize_s16_s8(int8_t *output, const int16_t *const *rows, const kibi_requantize_params *params, void *scratch)
{
    const kibi_requantize_params own = *params; /* as far as the compiler knows, outputs may overwrite the caller's */
    const int16_t *const input = rows[0];
    (void)scratch;
    if (own.shift < 0) {
        to_the_right(output, input, &own);
        return;
    }
    for (int32_t i = 0; i < own.elements; ++i) {
        const int32_t scaled = kibi_requantize(input[i] - own.zero_point, own.multiplier, own.shift);
        output[i] = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, own.output_zero_point), -128, 127);
    }
}
