/* SOFTMAX, float, portable. Source of the rule: TFLM, reference/softmax.h, Softmax. */
#include "kibi_normalization.h"

#include "kibi_exp_f32.h"
#include "kibi_float.h"
#include "kibi_quotient_f32.h"

void kibi_softmax_f32(float *output, const float *const *rows, const kibi_softmax_f32_params *params, void *scratch)
{
    const kibi_softmax_f32_params *const p = params;
    const float *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        float largest = KIBI_LOWEST_F32;
        float sum = 0.0f;
        for (int32_t i = 0; i < p->depth; ++i) {
            largest = largest < input[i] ? input[i] : largest;
        }
        for (int32_t i = 0; i < p->depth; ++i) {
            const float power = kibi_exp_f32((input[i] - largest) * p->beta);
            output[i] = power;
            sum += power;
        }
        for (int32_t i = 0; i < p->depth; ++i) {
            output[i] = KIBI_QUOTIENT(output[i], sum);
        }
        input += p->depth;
        output += p->depth;
    }
}
