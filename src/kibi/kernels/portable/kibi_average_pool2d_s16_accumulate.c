/* AVERAGE_POOL_2D, int16, portable. Source of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_average_pool2d_s16_accumulate.h"

#include "kibi_requantize.h"

/* The columns of window `x` that lie inside the input: the first, and how many. */
static inline int32_t columns_inside(int32_t x, const kibi_average_pool2d_s16_accumulate_params *p, int32_t *first)
{
    const int32_t start = x * p->stride - p->pad;
    const int32_t end = start + p->kernel_width;
    *first = start > 0 ? start : 0;
    return (end < p->input_width ? end : p->input_width) - *first;
}

static void finish(int16_t *output, const int32_t *sums, const kibi_average_pool2d_s16_accumulate_params *p)
{
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t count = columns_inside(x, p, &first) * p->steps;
        for (int32_t c = 0; c < p->channels; ++c) {
            const int32_t sum = *sums++;
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (int16_t)kibi_clamp((sum + half) / count, p->activation_min, p->activation_max);
        }
    }
}

void kibi_average_pool2d_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                        const kibi_average_pool2d_s16_accumulate_params *params, void *scratch,
                                        int32_t step)
{
    const kibi_average_pool2d_s16_accumulate_params *const p = params;
    int32_t *const sums = (int32_t *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->steps);
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t columns = columns_inside(x, p, &first);
        const int16_t *input = rows[0] + first * p->channels;
        for (int32_t i = 0; i < columns; ++i) {
            int32_t *sum = sums + x * p->channels;
            const int16_t *const column_end = input + p->channels;
            if (step == 0 && i == 0) {
                while (input != column_end) {
                    *sum++ = *input++;
                }
            }
            KIBI_UNROLL_TWICE
            while (input != column_end) {
                *sum++ += *input++;
            }
        }
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}
