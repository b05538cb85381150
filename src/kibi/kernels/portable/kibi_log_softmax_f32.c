/* LOG_SOFTMAX, float, portable. Source of the rule: TFLM, reference/log_softmax.h, LogSoftmax. */
#include "kibi_normalization.h"

#include "kibi_exp_f32.h"
#include "kibi_float.h"
#include "kibi_logarithm_f32.h"

void kibi_log_softmax_f32(float *output, const float *const *rows, const kibi_vectors_params *params, void *scratch)
{
    const kibi_vectors_params *const p = params;
    const float *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        float largest = KIBI_LOWEST_F32;
        float sum = 0.0f;
        for (int32_t i = 0; i < p->depth; ++i) {
            largest = largest < input[i] ? input[i] : largest;
        }
        for (int32_t i = 0; i < p->depth; ++i) {
            sum += kibi_exp_f32(input[i] - largest);
        }
        const float logarithm = kibi_logarithm_f32(sum);
        for (int32_t i = 0; i < p->depth; ++i) {
            const float difference = input[i] - largest;
            output[i] = difference - logarithm;
        }
        input += p->depth;
        output += p->depth;
    }
}
