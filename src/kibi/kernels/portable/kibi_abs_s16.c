/* ABS, int16, portable. Source of the rule: TFLM, micro/kernels/elementwise.cc, AbsEvalQuantized. */
#include "kibi_abs_s16.h"

#include "kibi_requantize.h"

void kibi_abs_s16(int16_t *output, const int16_t *const *rows, const kibi_abs_s16_params *params, void *scratch)
{
    const kibi_abs_s16_params *const p = params;
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t magnitude = input[i] < 0 ? -input[i] : input[i];
        const int32_t scaled = p->is_scaled != 0 ? kibi_requantize(magnitude, p->multiplier, p->shift) : magnitude;
        output[i] = (int16_t)kibi_clamp(scaled, INT16_MIN, INT16_MAX);
    }
}
