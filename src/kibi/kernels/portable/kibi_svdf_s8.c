/* SVDF, memory of int8, portable. Source of the rule: TFLM, micro/kernels/svdf_common.cc. */
#include "kibi_svdf.h"

#include <string.h>

#include "kibi_dot_1x1_s8.h"
#include "kibi_requantize.h"

/* The result of a filter takes the place of the oldest one. */
static void remember(int8_t *state, int32_t result, const kibi_svdf_s8_params *p)
{
    const int32_t scaled = kibi_requantize(result, p->feature_multiplier, p->feature_shift);
    memmove(state, state + 1, (size_t)(p->memory - 1) * sizeof(*state));
    state[p->memory - 1] = (int8_t)(p->state_zero_point + kibi_clamp(scaled, -128, 127));
}

static int32_t weighted(int32_t sum, const int8_t *state, const int8_t *w, const kibi_svdf_s8_params *p)
{
    for (int32_t i = 0; i < p->memory; ++i) {
        sum = kibi_wrapping_add(sum, w[i] * (state[i] - p->state_zero_point));
    }
    return sum;
}

void kibi_svdf_s8(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_params *params, void *scratch,
                  void *const *states)
{
    const kibi_svdf_s8_params *const p = params;
    int8_t *state = (int8_t *)states[0];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int8_t *const x = rows[0] + batch * p->depth;
        int32_t filter = 0;
        for (int32_t unit = 0; unit < p->units; ++unit) {
            int32_t sum = p->bias[unit];
            for (int32_t rank = 0; rank < p->filters_per_unit; ++rank) {
                const int8_t *const w = p->weights_feature + filter * p->depth;
                remember(state, kibi_dot_1x1_s8(p->feature_bias[filter], w, x, p->depth), p);
                sum = weighted(sum, state, p->weights_time + filter * p->memory, p);
                state += p->memory;
                ++filter;
            }
            const int32_t scaled = kibi_requantize(sum, p->output_multiplier, p->output_shift);
            *output++ = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), -128, 127);
        }
    }
}
