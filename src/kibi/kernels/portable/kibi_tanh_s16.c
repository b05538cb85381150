/* TANH, int16, portable. Source of the rule: TFLM, reference/integer_ops/tanh.h, Tanh. */
#include "kibi_unary.h"

#include "kibi_sigmoid_s16.h"

void kibi_tanh_s16(int16_t *output, const int16_t *const *rows, const kibi_sigmoid_s16_params *params, void *scratch)
{
    const int16_t *const input = rows[0];
    const uint32_t factor = (uint32_t)params->factor;
    const uint32_t half = ((uint32_t)1 << params->right_shift) >> 1;
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        const int32_t scaled = (int32_t)((uint32_t)input[i] * factor + half) >> params->right_shift;
        const uint32_t magnitude = scaled < 0 ? 0u - (uint32_t)scaled : (uint32_t)scaled;
        const int32_t line = magnitude >> 8 >= 255u ? 0xFFFF << 8 : kibi_sigmoid_s16(magnitude, 8u);
        const int32_t moved = line - (1 << 23);
        const int32_t result = scaled >= 0 ? moved + (1 << 7) : (1 << 7) - 1 - moved;
        output[i] = (int16_t)(result >> 8);
    }
}
