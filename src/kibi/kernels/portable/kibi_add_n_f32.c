/* ADD_N, float, portable: rule N24 of Kibi's numerics. Source: TFLM, reference/add_n.h. */
#include "kibi_add_n.h"

#include "kibi_float.h"

void kibi_add_n_f32(float *output, const float *const *rows, const kibi_add_n_f32_params *params, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        float sum = 0.0f;
        for (int32_t k = 0; k < params->inputs; ++k) {
            sum += rows[k][i];
        }
        output[i] = sum;
    }
}
