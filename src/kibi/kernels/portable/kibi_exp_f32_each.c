/* EXP, float, portable. Source of the rule: TFLM, reference/exp.h, Exp. */
#include "kibi_exp_f32_each.h"

#include "kibi_exp_f32.h"

void kibi_exp_f32_each(float *output, const float *const *rows, const kibi_exp_f32_each_params *params, void *scratch)
{
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = kibi_exp_f32(input[i]);
    }
}
