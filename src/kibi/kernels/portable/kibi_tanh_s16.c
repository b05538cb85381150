/* TANH, int16, portable. Source of the rule: TFLM, reference/integer_ops/tanh.h, Tanh. */
#include "kibi_tanh_s16.h"

#include "kibi_sigmoid_s16.h"

void kibi_tanh_s16(int16_t *output, const int16_t *const *rows, const kibi_tanh_s16_params *params, void *scratch)
{
    const int16_t *const input = rows[0];
    const int32_t half = (int32_t)(((uint32_t)1 << params->shift) >> 1);
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        const int32_t scaled = (input[i] * params->multiplier + half) >> params->shift;
        const uint32_t magnitude = (uint32_t)(scaled < 0 ? -scaled : scaled);
        const int32_t line = magnitude >> 8 >= 255u ? 0xFFFF << 8 : kibi_sigmoid_s16(magnitude, 8u);
        const int32_t moved = line - (1 << 23);
        const int32_t result = scaled >= 0 ? moved + (1 << 7) : (1 << 7) - 1 - moved;
        output[i] = (int16_t)(result >> 8);
    }
}
