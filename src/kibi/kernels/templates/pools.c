/* Pools: what becomes of the elements under a window. kibi/kernels/templates.py says how a template is read. */

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

/*= kibi_max_pool2d_TYPE
 *  TYPE: s8 s16 f32
 *  HELPER s8, s16: kibi_requantize
 *  HELPER f32: kibi_float
 *  EXTREME s8, s16: int32_t
 *  EXTREME f32: float
 *  LOWEST s8: -128
 *  LOWEST s16: -32768
 *  LOWEST f32: KIBI_LOWEST_F32
 *  RESULT s8, s16: (TYPE_t)kibi_clamp(largest, p->activation_min, p->activation_max)
 *  RESULT f32: kibi_clamp_f32(largest, p->activation_min, p->activation_max)
 *  MAX_POOL_2D. Source of the rule: TFLM, reference/pooling.h and integer_ops/pooling.h, MaxPool. */
#include "HELPER.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        for (int32_t c = 0; c < p->channels; ++c) {
            EXTREME largest = LOWEST;
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
            *output++ = RESULT;
        }
    }
}

/*= kibi_max_pool2d_TYPE_accumulate
 *  TYPE: s8 s16
 *  MAX_POOL_2D of integers, a row of the window at a time. Source of the rule: TFLM, integer_ops/pooling.h, MaxPool. */
#include "kibi_requantize.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch, int32_t step)
{
    const PARAMS *const p = params;
    const int32_t elements = p->output_width * p->channels;
    TYPE_t *const maxima = (TYPE_t *)scratch;
    KIBI_ASSERT(maxima != NULL && (uintptr_t)scratch % sizeof(TYPE_t) == 0 && step >= 0 && step < p->steps);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const TYPE_t *input = rows[0] + first * p->channels;
        for (int32_t column = first; column < end; ++column) {
            TYPE_t *largest = maxima + x * p->channels;
            const TYPE_t *const column_end = input + p->channels;
            if (step == 0 && column == first) {
                while (input != column_end) {
                    *largest++ = *input++;
                }
            }
            KIBI_UNROLL_TWICE
            while (input != column_end) {
                const TYPE_t value = *input++;
                *largest = value > *largest ? value : *largest;
                ++largest;
            }
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < elements; ++o) {
            output[o] = (TYPE_t)kibi_clamp(maxima[o], p->activation_min, p->activation_max);
        }
    }
}

/*= kibi_KIND_pool2d_f32
 *  KIND: average l2
 *  TERM average: *input
 *  TERM l2: *input * *input
 *  RESULT average: KIBI_QUOTIENT(sum, (float)count)
 *  RESULT l2: kibi_square_root(KIBI_QUOTIENT(sum, (float)count))
 *  AVERAGE_POOL_2D and L2_POOL_2D of floats. Source of the rule: TFLM, reference/pooling.h, AveragePool and L2Pool. */
#include "kibi_float.h"
#include "kibi_quotient_f32.h"
#include "kibi_square_root.h"

void KERNEL(float *output, const float *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        for (int32_t c = 0; c < p->channels; ++c) {
            float sum = 0.0f;
            int32_t count = 0;
            for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
                if (rows[ky] == NULL) {
                    continue;
                }
                const float *input = rows[ky] + first * p->channels + c;
                for (int32_t column = first; column < end; ++column) {
                    const float term = TERM;
                    sum += term;
                    input += p->channels;
                    ++count;
                }
            }
            *output++ = kibi_clamp_f32(RESULT, p->activation_min, p->activation_max);
        }
    }
}
