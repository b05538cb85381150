/* Averages of windows in one output row. kibi/kernels/templates.py says how a template is read. */

/*= kibi_average_pool2d_TYPE_accumulate
 *  TYPE: s8 s16
 *  SUM: int32_t
 *  AVERAGE_POOL_2D of integers, a row of the window at a time. Source of the rule: TFLM, integer_ops/pooling.h, AveragePool. */

/*= kibi_average_pool2d_TYPE_accumulate_small
 *  TYPE: s8
 *  SUM: int16_t
 *  AVERAGE_POOL_2D of at most 256 bytes, whose sums fit 16 bits, a row of the window at a time. Source of the rule: TFLM,
 * integer_ops/pooling.h, AveragePool. */

/*= =
 *  The steps. */
#include "kibi_requantize.h"

/* The columns of window `x` that are inside the input: the first, and how many. */
static inline int32_t columns_inside(int32_t x, const PARAMS *p, int32_t *first)
{
    const int32_t start = x * p->stride - p->pad;
    const int32_t end = start + p->kernel_width;
    *first = start > 0 ? start : 0;
    return (end < p->input_width ? end : p->input_width) - *first;
}

static void finish(TYPE_t *output, const SUM *sums, const PARAMS *p)
{
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t count = columns_inside(x, p, &first) * p->steps;
        for (int32_t c = 0; c < p->channels; ++c) {
            const int32_t sum = *sums++;
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (TYPE_t)kibi_clamp((sum + half) / count, p->activation_min, p->activation_max);
        }
    }
}

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch, int32_t step)
{
    const PARAMS *const p = params;
    SUM *const sums = (SUM *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(SUM) == 0 && step >= 0 && step < p->steps);
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t columns = columns_inside(x, p, &first);
        const TYPE_t *input = rows[0] + first * p->channels;
        for (int32_t i = 0; i < columns; ++i) {
            SUM *sum = sums + x * p->channels;
            const TYPE_t *const column_end = input + p->channels;
            if (step == 0 && i == 0) {
                while (input != column_end) {
                    *sum++ = *input++;
                }
            }
            KIBI_UNROLL_TWICE
            while (input != column_end) {
                *sum = (SUM)(*sum + *input++);
                ++sum;
            }
        }
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}
