/* SVDF, float, portable. Source of the rule: TFLM, micro/kernels/svdf_common.cc. */
#include "kibi_svdf.h"

#include <string.h>

#include "kibi_dot_f32.h"

void kibi_svdf_f32(float *output, const float *const *rows, const kibi_svdf_f32_params *params, void *scratch,
                   void *const *states)
{
    const kibi_svdf_f32_params *const p = params;
    float *state = (float *)states[0];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const float *const x = rows[0] + batch * p->depth;
        const float *feature = KIBI_AT(float, p, weights_feature);
        const float *time = KIBI_AT(float, p, weights_time);
        for (int32_t unit = 0; unit < p->units; ++unit) {
            float sum = KIBI_AT(float, p, bias)[unit];
            for (int32_t rank = 0; rank < p->filters_per_unit; ++rank) {
                const float result = kibi_dot_f32(0.0f, feature, x, p->depth);
                (void)memmove(state, state + 1, (size_t)(p->memory - 1) * sizeof(*state));
                state[p->memory - 1] = result;
                sum += kibi_dot_f32(0.0f, time, state, p->memory);
                state += p->memory;
                feature += p->depth;
                time += p->memory;
            }
            if (p->has_activation != 0) {
                sum = sum != sum ? p->activation_of_nan : kibi_clamp_f32(sum, p->activation_min, p->activation_max);
            }
            *output++ = sum;
        }
    }
}
