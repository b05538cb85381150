/* AVERAGE_POOL_2D, float, portable. Source of the rule: TFLM, reference/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_float.h"
#include "kibi_quotient_f32.h"

/* The columns of window `x` that are inside the input: the first, and how many. */
static inline int32_t columns_inside(int32_t x, const kibi_pool_f32_accumulate_params *p, int32_t *first)
{
    const int32_t start = x * p->stride - p->pad;
    const int32_t end = start + p->kernel_width;
    *first = start > 0 ? start : 0;
    return (end < p->input_width ? end : p->input_width) - *first;
}

static void finish(float *output, const float *sums, const kibi_pool_f32_accumulate_params *p)
{
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t count = columns_inside(x, p, &first) * p->steps;
        for (int32_t c = 0; c < p->channels; ++c) {
            *output++ = kibi_clamp_f32(KIBI_QUOTIENT(*sums++, (float)count), p->activation_min, p->activation_max);
        }
    }
}

void kibi_average_pool2d_f32_accumulate(float *output, const float *const *rows,
                                        const kibi_pool_f32_accumulate_params *params, void *scratch, int32_t step)
{
    const kibi_pool_f32_accumulate_params *const p = params;
    float *const sums = (float *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(float) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t i = 0; i < p->output_width * p->channels; ++i) {
            sums[i] = 0.0f;
        }
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t columns = columns_inside(x, p, &first);
        const float *input = rows[0] + first * p->channels;
        for (int32_t i = 0; i < columns; ++i) {
            float *sum = sums + x * p->channels;
            const float *const column_end = input + p->channels;
            while (input != column_end) {
                *sum++ += *input++;
            }
        }
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}
