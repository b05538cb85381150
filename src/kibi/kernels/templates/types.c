/* Kernels that differ in types only. kibi/kernels/templates.py says how a template is read. */

/*= kibi_pad_TYPE
 *  TYPE: s8 s16 s32 f32
 *  VALUE s8, s32: int32_t
 *  VALUE s16, f32: TYPE_t
 *  FILL s8: output = (int8_t *)memset(output, (int)value, (size_t)count) + count;
 *  FILL s16, s32, f32: for (int32_t i = 0; i < count; ++i) { *output++ = value; }
 *  PAD. Source of the rule: TFLM, micro/kernels/pad_common.cc. */
#include <string.h>

static TYPE_t *fill(TYPE_t *output, VALUE value, int32_t count)
{
    FILL
    return output;
}

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const int32_t channels = p->before_channels + p->channels + p->after_channels;
    /* Columns without padding of their own are one run. */
    const int32_t columns = channels == p->channels ? 1 : p->width;
    const int32_t run = channels == p->channels ? p->width * channels : p->channels;
    const VALUE value = (VALUE)p->value;
    (void)scratch;
    output = fill(output, value, p->before_width * channels);
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const TYPE_t *input = rows[piece];
        for (int32_t column = 0; column < columns; ++column) {
            output = fill(output, value, p->before_channels);
            (void)memmove(output, input, (size_t)run * sizeof(*output));
            input += run;
            output = fill(output + run, value, p->after_channels);
        }
    }
    (void)fill(output, value, p->after_width * channels);
}

/*= kibi_broadcast_args_TYPE
 *  TYPE: s32 s64
 *  BROADCAST_ARGS. Source of the rule: TFLM, reference/broadcast_args.h. */

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t i1 = i - (p->elements - p->elements1);
        const int32_t i2 = i - (p->elements - p->elements2);
        const TYPE_t size1 = i1 < 0 ? 1 : rows[0][i1];
        const TYPE_t size2 = i2 < 0 ? 1 : rows[1][i2];
        output[i] = size1 == 1 ? size2 : size1;
    }
}

/*= kibi_signal_overlap_add_TYPE
 *  TYPE: s16 f32
 *  HELPER s16: kibi_requantize
 *  HELPER f32: kibi_float
 *  TOTAL s16: (TYPE_t)kibi_clamp(a + b, INT16_MIN, INT16_MAX)
 *  TOTAL f32: a + b
 *  SignalOverlapAdd. Source of the rule: TFLM, signal/src/overlap_add.cc. */
#include "HELPER.h"

static TYPE_t sum(TYPE_t a, TYPE_t b)
{
    return TOTAL;
}

/* Adds one frame. */
static void add(TYPE_t *output, TYPE_t *rest, const TYPE_t *frame, int32_t size, int32_t step)
{
    const int32_t kept = size - step;
    for (int32_t i = 0; i < step; ++i) {
        output[i] = sum(i < kept ? rest[i] : 0, frame[i]);
    }
    for (int32_t i = 0; i < kept; ++i) {
        rest[i] = sum(i + step < kept ? rest[i + step] : 0, frame[i + step]);
    }
}

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch, void *const *states)
{
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        TYPE_t *const rest = (TYPE_t *)states[0] + line * (params->size - params->step);
        for (int32_t frame = 0; frame < params->frames; ++frame) {
            add(output, rest, *rows, params->size, params->step);
            output += params->step;
            ++rows;
        }
    }
}

/*= kibi_arg_extreme_TYPE
 *  TYPE: s8 f32
 *  ARG_MAX and ARG_MIN. Source of the rule: TFLM, reference/arg_min_max.h. */
void KERNEL(int32_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
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

/*= kibi_gather_runs_TYPE
 *  TYPE: s8 s16 s32 f32
 *  Output rows put together from runs of elements. */
#include "kibi_copy_runs.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const int32_t *outer = KIBI_AT(int32_t, p, outer);
    const int32_t *const outer_end = outer + 2 * p->outer_count;
    kibi_copied_runs runs;
    runs.to = (uint8_t *)output;
    runs.entries_end = KIBI_AT(int32_t, p, inner) + 2 * p->inner_count;
    runs.element_bytes = (int32_t)sizeof(*output);
    runs.run_bytes = p->elements * (int32_t)sizeof(*output);
    (void)scratch;
    for (; outer != outer_end; outer += 2) {
        runs.rows = (const void *const *)rows + outer[0];
        runs.place = outer[1];
        runs.entry = KIBI_AT(int32_t, p, inner);
        for (kibi_copy_all_runs(&runs); runs.entry != runs.entries_end; kibi_copy_all_runs(&runs)) {
            TYPE_t *const filled = (TYPE_t *)(void *)runs.to;
            for (int32_t k = 0; k < p->elements; ++k) {
                filled[k] = *KIBI_AT(TYPE_t, p, filler);
            }
            runs.to += runs.run_bytes;
            runs.entry += 2;
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
        (void)memmove(output, rows[piece], (size_t)params->elements * sizeof(*output));
        output += params->elements;
    }
}

/*= kibi_signal_rfft_TYPE
 *  TYPE: s16 s32 f32
 *  SignalRfft: rules N41 and N42. */
#include "kibi_fft_TYPE.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const kibi_fft_plan plan = {params->points, params->stage_count, KIBI_AT(int32_t, params, stages),
                                KIBI_AT(TYPE_t, params, twiddles), KIBI_AT(TYPE_t, params, half_turn)};
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

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const kibi_fft_plan plan = {params->points, params->stage_count, KIBI_AT(int32_t, params, stages),
                                KIBI_AT(TYPE_t, params, twiddles), KIBI_AT(TYPE_t, params, half_turn)};
    const TYPE_t *input = rows[0];
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        kibi_fft_backward(output, input, &plan);
        input += 2 * (params->points + 1);
        output += 2 * params->points;
    }
}

/*= kibi_softmax_KIND
 *  KIND: s8 s8_s16
 *  OUTPUT s8: int8_t
 *  OUTPUT s8_s16: int16_t
 *  FRACTION s8: 8
 *  FRACTION s8_s16: 16
 *  LOWEST s8: INT8_MIN
 *  LOWEST s8_s16: INT16_MIN
 *  HIGHEST s8: INT8_MAX
 *  HIGHEST s8_s16: INT16_MAX
 *  SOFTMAX of int8, portable. Source of the rule: TFLM, reference/softmax.h, and gemmlowp, fixedpoint.h. */
#include "kibi_exponentials_s8.h"

static void one_vector(OUTPUT *output, const int8_t *input, const PARAMS *p)
{
    const int32_t *const exponentials = KIBI_AT(int32_t, p, exponentials);
    const int32_t largest = kibi_largest_s8(input, p->depth);
    const int32_t sum = kibi_sum_of_exponentials(input, p->depth, largest, exponentials, p->differences);
    const int32_t headroom = kibi_leading_zeros((uint32_t)sum);
    const int32_t scale = kibi_one_over_one_plus((int32_t)(((uint32_t)sum << headroom) - 0x80000000u));
    const int32_t exponent = KIBI_SUM_BITS - headroom + 31 - FRACTION;
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t difference = largest - input[i];
        int32_t value = LOWEST;
        if (difference < p->differences) {
            value += kibi_divide_positive(kibi_multiply_high(scale, exponentials[difference]), exponent);
            value = value > HIGHEST ? HIGHEST : value;
        }
        output[i] = (OUTPUT)value;
    }
}

void KERNEL(OUTPUT *output, const int8_t *const *rows, const PARAMS *params, void *scratch)
{
    const int8_t *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < params->vectors; ++vector) {
        one_vector(output, input, params);
        output += params->depth;
        input += params->depth;
    }
}
