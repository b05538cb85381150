/* LOGISTIC, float, portable. Source of the rule: TFLM, reference/logistic.h, Logistic. */
#include "kibi_logistic_f32.h"

#include "kibi_exp_f32.h"
#include "kibi_float.h"

static float logistic(float value)
{
    if (value > 16.619047164916992f) {
        return 1.0f;
    }
    return value < -9.0f ? kibi_exp_f32(value) : 1.0f / (1.0f + kibi_exp_f32(-value));
}

void kibi_logistic_f32(float *output, const float *const *rows, const kibi_logistic_f32_params *params, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = logistic(rows[0][i]);
    }
}
