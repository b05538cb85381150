/* LOGISTIC, float, portable. Source of the rule: TFLM, reference/logistic.h, Logistic. */
#include "kibi_logistic_f32.h"

#include "kibi_logistic_value.h"

void kibi_logistic_f32(float *output, const float *const *rows, const kibi_logistic_f32_params *params, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = kibi_logistic_value(rows[0][i]);
    }
}
