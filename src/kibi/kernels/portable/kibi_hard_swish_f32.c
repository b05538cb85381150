/* HARD_SWISH, float, portable. Source of the rule: TFLM, reference/hard_swish.h, HardSwish. */
#include "kibi_hard_swish_f32.h"

#include "kibi_quotient_f32.h"

void kibi_hard_swish_f32(float *output, const float *const *rows, const kibi_hard_swish_f32_params *params, void *scratch)
{
    const kibi_hard_swish_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const float moved = input[i] + 3.0f;
        const float raised = 0.0f < moved ? moved : 0.0f;
        output[i] = KIBI_QUOTIENT(input[i] * (raised < 6.0f ? raised : 6.0f), 6.0f);
    }
}
