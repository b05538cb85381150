/* Kernels that differ in types only. kibi/kernels/templates.py says how a template is read. */

/*= kibi_average_pool2d_TYPE
 *  TYPE: s8 s16
 *  AVERAGE_POOL_2D of integers. Source of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_requantize.h"

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    int32_t first_row = 0;
    int32_t end_row = p->kernel_rows;
    while (rows[first_row] == NULL) {
        ++first_row;
    }
    while (rows[end_row - 1] == NULL) {
        --end_row;
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = larger(start, 0);
        const int32_t columns = smaller(start + p->kernel_width, p->input_width) - first;
        const int32_t count = columns * (end_row - first_row);
        for (int32_t c = 0; c < p->channels; ++c) {
            int32_t sum = 0;
            for (int32_t ky = first_row; ky < end_row; ++ky) {
                const TYPE_t *input = rows[ky] + first * p->channels + c;
                for (int32_t i = 0; i < columns; ++i) {
                    sum += *input;
                    input += p->channels;
                }
            }
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (TYPE_t)kibi_clamp((sum + half) / count, p->activation_min, p->activation_max);
        }
    }
}

/*= kibi_average_pool2d_TYPE_accumulate
 *  TYPE: s8 s16
 *  AVERAGE_POOL_2D of integers, a row of the window at a time. Source of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_requantize.h"

/* The columns of window `x` that are inside the input: the first, and how many. */
static inline int32_t columns_inside(int32_t x, const PARAMS *p, int32_t *first)
{
    const int32_t start = x * p->stride - p->pad;
    const int32_t end = start + p->kernel_width;
    *first = start > 0 ? start : 0;
    return (end < p->input_width ? end : p->input_width) - *first;
}

static void finish(TYPE_t *output, const int32_t *sums, const PARAMS *p)
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

void KERNEL(TYPE_t *output, const TYPE_t *const *rows,
                                       const PARAMS *params, void *scratch, int32_t step)
{
    const PARAMS *const p = params;
    int32_t *const sums = (int32_t *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->steps);
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t columns = columns_inside(x, p, &first);
        const TYPE_t *input = rows[0] + first * p->channels;
        for (int32_t i = 0; i < columns; ++i) {
            int32_t *sum = sums + x * p->channels;
            const TYPE_t *const column_end = input + p->channels;
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

/*= kibi_max_pool2d_TYPE
 *  TYPE: s8
 *  LOWEST: -128
 *  MAX_POOL_2D of integers. Source of the rule: TFLM, integer_ops/pooling.h, MaxPool. */
#include "kibi_requantize.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        for (int32_t c = 0; c < p->channels; ++c) {
            int32_t largest = LOWEST;
            for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
                if (rows[ky] == NULL) {
                    continue;
                }
                const TYPE_t *input = rows[ky] + first * p->channels + c;
                for (int32_t column = first; column < end; ++column) {
                    largest = *input > largest ? *input : largest;
                    input += p->channels;
                }
            }
            *output++ = (TYPE_t)kibi_clamp(largest, p->activation_min, p->activation_max);
        }
    }
}

/*= kibi_max_pool2d_TYPE
 *  TYPE: s16
 *  LOWEST: -32768
 *  MAX_POOL_2D of integers. Source of the rule: TFLM, integer_ops/pooling.h, MaxPool. */
#include "kibi_requantize.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        for (int32_t c = 0; c < p->channels; ++c) {
            int32_t largest = LOWEST;
            for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
                if (rows[ky] == NULL) {
                    continue;
                }
                const TYPE_t *input = rows[ky] + first * p->channels + c;
                for (int32_t column = first; column < end; ++column) {
                    largest = *input > largest ? *input : largest;
                    input += p->channels;
                }
            }
            *output++ = (TYPE_t)kibi_clamp(largest, p->activation_min, p->activation_max);
        }
    }
}

/*= kibi_arg_extreme_TYPE
 *  TYPE: s8 f32
 *  ARG_MAX and ARG_MIN. Source of the rule: TFLM, reference/arg_min_max.h. */
void KERNEL(int32_t *output, const TYPE_t *const *rows, const PARAMS *params,
                         void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t o = 0; o < p->outer; ++o) {
        for (int32_t i = 0; i < p->inner; ++i) {
            int32_t at = o * p->size * p->inner + i;
            int32_t place = 0;
            TYPE_t found = rows[at / p->row_elements][at % p->row_elements];
            for (int32_t k = 1; k < p->size; ++k) {
                at += p->inner;
                const TYPE_t value = rows[at / p->row_elements][at % p->row_elements];
                if (p->is_max ? value > found : value < found) {
                    found = value;
                    place = k;
                }
            }
            *output++ = place;
        }
    }
}

/*= kibi_mean_TYPE
 *  TYPE: s8
 *  LOWEST: -128
 *  LARGEST: 127
 *  MEAN of integers. Source of the rule: TFLM, reference/reduce.h, QuantizedMeanOrSum. */
#include "kibi_requantize.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch,
                  int32_t step)
{
    const PARAMS *const p = params;
    int32_t *const sums = (int32_t *)scratch;
    const TYPE_t *input = rows[0];
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            sums[o] = p->start;
        }
    }
    int32_t *const start = sums + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        int32_t *sum = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            *sum = kibi_wrapping_add(*sum, *input++);
            sum += p->step3;
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            const int32_t mean = kibi_requantize(sums[o], p->multiplier, p->shift);
            output[o] = (TYPE_t)kibi_clamp(kibi_wrapping_add(mean, p->output_zero_point), LOWEST, LARGEST);
        }
    }
}

/*= kibi_mean_TYPE
 *  TYPE: s16
 *  LOWEST: INT16_MIN
 *  LARGEST: INT16_MAX
 *  MEAN of integers. Source of the rule: TFLM, reference/reduce.h, QuantizedMeanOrSum. */
#include "kibi_requantize.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch,
                  int32_t step)
{
    const PARAMS *const p = params;
    int32_t *const sums = (int32_t *)scratch;
    const TYPE_t *input = rows[0];
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            sums[o] = p->start;
        }
    }
    int32_t *const start = sums + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        int32_t *sum = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            *sum = kibi_wrapping_add(*sum, *input++);
            sum += p->step3;
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            const int32_t mean = kibi_requantize(sums[o], p->multiplier, p->shift);
            output[o] = (TYPE_t)kibi_clamp(kibi_wrapping_add(mean, p->output_zero_point), LOWEST, LARGEST);
        }
    }
}

/*= kibi_gather_runs_TYPE
 *  TYPE: s8 s16 s32 f32
 *  Output rows put together from runs of elements. */
#include <string.h>

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params,
                         void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t o = 0; o < p->outer_count; ++o) {
        for (int32_t i = 0; i < p->inner_count; ++i) {
            const TYPE_t *const row = rows[p->outer[2 * o] + p->inner[2 * i]];
            const int32_t place = p->outer[2 * o + 1] + p->inner[2 * i + 1];
            if (row != NULL && place >= 0) {
                memmove(output, row + place, (size_t)p->elements * sizeof(*output));
            } else {
                for (int32_t k = 0; k < p->elements; ++k) {
                    output[k] = *p->filler;
                }
            }
            output += p->elements;
        }
    }
}

/*= kibi_copy_TYPE
 *  TYPE: s8 f32
 *  RESHAPE. */
#include <string.h>

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    (void)scratch;
    for (int32_t piece = 0; piece < params->pieces; ++piece) {
        memmove(output, rows[piece], (size_t)params->elements * sizeof(*output));
        output += params->elements;
    }
}

/*= kibi_signal_rfft_TYPE
 *  TYPE: s16 s32 f32
 *  SignalRfft: rules N41 and N42. */
#include "kibi_fft_TYPE.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params,
                          void *scratch)
{
    const kibi_fft_plan plan = {params->points, params->stage_count, params->stages, params->twiddles, params->half_turn};
    const TYPE_t *input = rows[0];
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        kibi_fft_forward(output, input, params->input_elements, &plan);
        input += params->input_elements;
        output += 2 * (params->points + 1);
    }
}

/*= kibi_signal_irfft_TYPE
 *  TYPE: s16 s32
 *  SignalIrfft of integers: rules N41 and N42. */
#include "kibi_fft_TYPE.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params,
                           void *scratch)
{
    const kibi_fft_plan plan = {params->points, params->stage_count, params->stages, params->twiddles, params->half_turn};
    const TYPE_t *input = rows[0];
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        kibi_fft_backward(output, input, &plan);
        input += 2 * (params->points + 1);
        output += 2 * params->points;
    }
}

/*= =
 *  Nothing: each part is complete. */
