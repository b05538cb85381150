/* Sums of products. kibi/kernels/templates.py says how a template is read.
 *
 * SUM is the type in which products are added up, from START on; RESULT is what is written of a sum. */

/*= kibi_conv2d_TYPE
 *  TYPE: s16 f32
 *  HELPER s16: kibi_requantize_s16
 *  HELPER f32: kibi_dot_f32
 *  WEIGHT s16: int8_t
 *  WEIGHT f32: float
 *  SUM s16: int64_t
 *  SUM f32: float
 *  START s16: KIBI_AT(int64_t, p, bias)[o]
 *  START f32: 0.0f
 *  RESULT s16: kibi_requantize_s16(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o], p->is_wide, 0, p->activation_min, p->activation_max)
 *  RESULT f32: kibi_clamp_f32(sum + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max)
 *  CONV_2D. Source of the rule: TFLM, reference/conv.h, Conv, and integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "HELPER.h"
#include "kibi_window_columns.h"

static SUM sum_of(SUM sum, const TYPE_t *const *rows, const WEIGHT *w, int32_t first, const kibi_window_columns *c,
                  const PARAMS *p)
{
    const int32_t width = p->kernel_width * (p->input_channels / p->groups);
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const TYPE_t *x = rows[ky] + c->place + first;
            const WEIGHT *from = w + ky * width + c->weight;
            for (int32_t k = 0; k < c->runs; ++k) {
                sum = kibi_dot_TYPE(sum, from, x, c->run);
                x += c->step;
                from += c->run;
            }
        }
    }
    return sum;
}

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const int32_t depth = p->input_channels / p->groups;
    const int32_t size = p->kernel_rows * p->kernel_width * depth;
    const int32_t outputs = p->output_channels / p->groups;
    (void)scratch;
    KIBI_ASSERT(p->groups * depth == p->input_channels && p->groups * outputs == p->output_channels);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                            p->input_width, p->input_channels, depth);
        for (int32_t o = 0; o < p->output_channels; ++o) {
            const SUM sum = sum_of(START, rows, KIBI_AT(WEIGHT, p, filter) + o * size, o / outputs * depth, &found, p);
            *output++ = RESULT;
        }
    }
}

/*= kibi_transpose_conv_TYPE
 *  TYPE: s8 s16 f32
 *  HELPER s8: kibi_requantize
 *  HELPER s16: kibi_requantize_s16
 *  HELPER f32: kibi_dot_f32
 *  WEIGHT s8, s16: int8_t
 *  WEIGHT f32: float
 *  SUM s8: uint32_t
 *  SUM s16: int64_t
 *  SUM f32: float
 *  START s8: (uint32_t)KIBI_AT(int32_t, p, bias)[o]
 *  START s16: KIBI_AT(int64_t, p, bias)[o]
 *  START f32: 0.0f
 *  PRODUCTS s8: kibi_add_products_s8(sum, from, row + ix * p->column_step, p->input_zero_point, p->input_channels)
 *  PRODUCTS s16: kibi_dot_s16(sum, from, row + ix * p->column_step, p->input_channels)
 *  PRODUCTS f32: kibi_dot_f32(sum, from, row + ix * p->column_step, p->input_channels)
 *  RESULT s8: (int8_t)kibi_clamp(kibi_wrapping_add(kibi_requantize((int32_t)sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o]), p->output_zero_point), p->activation_min, p->activation_max)
 *  RESULT s16: (int16_t)kibi_clamp(kibi_requantize_wide(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o]), p->activation_min, p->activation_max)
 *  RESULT f32: kibi_clamp_f32(sum + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max)
 *  TRANSPOSE_CONV. Source of the rule: TFLM, reference/transpose_conv.h and integer_ops/transpose_conv.h, TransposeConv. */
#include "HELPER.h"
#include "kibi_spread_columns.h"

/* A sum, plus all that row `j` and column `x` of the output take from the input; w: the channel's weights. */
static SUM sum_of(SUM sum, const TYPE_t *const *rows, const WEIGHT *w, int32_t j, int32_t x, const PARAMS *p)
{
    const int32_t place = x + p->pad;
    const kibi_spread_columns columns = kibi_find_spread_columns(place, p->kernel_width, p->stride, p->input_width);
    for (int32_t r = 0; r < p->row_count; ++r) {
        const int32_t ky = j + p->row_offset - r * p->stride_rows;
        if (ky < 0 || ky >= p->kernel_rows) {
            continue;
        }
        for (int32_t ix = columns.first; ix < columns.end; ++ix) {
            const TYPE_t *const row = rows[r + ix * p->pointer_step];
            const int32_t kx = place - ix * p->stride;
            if (row != NULL) {
                const WEIGHT *const from = w + (ky * p->kernel_width + kx) * p->input_channels;
                sum = PRODUCTS;
            }
        }
    }
    return sum;
}

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const int32_t size = p->kernel_rows * p->kernel_width * p->input_channels;
    (void)scratch;
    for (int32_t j = 0; j < p->rows_made; ++j) {
        for (int32_t x = 0; x < p->output_width; ++x) {
            for (int32_t o = 0; o < p->output_channels; ++o) {
                const SUM sum = sum_of(START, rows, KIBI_AT(WEIGHT, p, filter) + o * size, j, x, p);
                *output++ = RESULT;
            }
        }
    }
}

/*= kibi_fully_connected_TYPE
 *  TYPE: s16 f32
 *  HELPER s16: kibi_requantize_s16
 *  HELPER f32: kibi_dot_f32
 *  WEIGHT s16: int8_t
 *  WEIGHT f32: float
 *  SUM s16: int64_t
 *  SUM f32: float
 *  START s16: KIBI_AT(int64_t, p, bias)[o]
 *  START f32: 0.0f
 *  RESULT s16: kibi_requantize_s16(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o], p->is_wide, p->output_zero_point, p->activation_min, p->activation_max)
 *  RESULT f32: kibi_clamp_f32(sum + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max)
 *  FULLY_CONNECTED. Source of the rule: TFLM, reference/fully_connected.h and integer_ops/fully_connected.h. */
#include "HELPER.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->piece * p->pieces == p->depth && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        const WEIGHT *w = KIBI_AT(WEIGHT, p, filter);
        for (int32_t o = 0; o < p->output_channels; ++o) {
            SUM sum = START;
            for (int32_t k = 0; k < p->pieces; ++k) {
                sum = kibi_dot_TYPE(sum, w, rows[k] + offset, p->piece);
                w += p->piece;
            }
            *output++ = RESULT;
        }
        offset += p->depth;
        if (offset == p->vectors_per_row * p->depth) {
            offset = 0;
            rows += p->pieces;
        }
    }
}

/*= kibi_batch_matmul_TYPE
 *  TYPE: s8 s16 f32
 *  HELPER s8: kibi_requantize
 *  HELPER s16: kibi_requantize_s16
 *  HELPER f32: kibi_float
 *  SUM s8: uint32_t
 *  SUM s16: int64_t
 *  SUM f32: float
 *  PRODUCT s8: (uint32_t)(((int32_t)left[k1] - p->zero_point1) * ((int32_t)right[k2] - p->zero_point2))
 *  PRODUCT s16: (int64_t)left[k1] * right[k2]
 *  PRODUCT f32: left[k1] * right[k2]
 *  RESULT s8: (int8_t)kibi_clamp(kibi_wrapping_add(kibi_requantize((int32_t)sum, p->output_multiplier, p->output_shift), p->output_zero_point), INT8_MIN, INT8_MAX)
 *  RESULT s16: (int16_t)kibi_clamp(kibi_requantize_wide(sum, p->output_multiplier, p->output_shift), INT16_MIN, INT16_MAX)
 *  RESULT f32: sum
 *  BATCH_MATMUL: rules N24, N26 and N35 of Kibi's numerics. Source: TFLM, reference/batch_matmul.h. */
#include "HELPER.h"

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    (void)scratch;
    for (int32_t matrix = 0; matrix < p->matrix_count; ++matrix) {
        const int32_t *const at = KIBI_AT(int32_t, p, matrices) + 4 * matrix;
        for (int32_t m = 0; m < p->rows; ++m) {
            const TYPE_t *const *const rows1 = rows + at[0] + m * p->row_pointers;
            for (int32_t n = 0; n < p->columns; ++n) {
                const TYPE_t *const *const rows2 = rows + p->pointers1 + at[2] + n * p->column_pointers;
                int32_t k1 = at[1] + m * p->row_step;
                int32_t k2 = at[3] + n * p->column_step;
                SUM sum = 0;
                for (int32_t k = 0; k < p->depth; ++k) {
                    const TYPE_t *const left = rows1[k * p->depth1_pointers];
                    const TYPE_t *const right = rows2[k * p->depth2_pointers];
                    sum += PRODUCT;
                    k1 += p->depth1_step;
                    k2 += p->depth2_step;
                }
                *output++ = RESULT;
            }
        }
    }
}

/*= kibi_svdf_KIND
 *  KIND: s8 s8_s16
 *  STATE s8: int8_t
 *  STATE s8_s16: int16_t
 *  NEWEST s8: p->state_zero_point + kibi_clamp(scaled, -128, 127)
 *  NEWEST s8_s16: kibi_clamp(scaled, -32768, 32767)
 *  UNITS s8: kibi_svdf_units_s8
 *  UNITS s8_s16: kibi_svdf_units_s16
 *  ZERO s8: p->state_zero_point
 *  ZERO s8_s16: 0
 *  HAS_WORDS s8: p->memory % 4 == 0 && p->memory >= 8
 *  HAS_WORDS s8_s16: p->memory % 2 == 0 && p->memory >= 4
 *  WEIGHTED s8: kibi_remember_s8(sum, state, w, p->memory, p->state_zero_point, (int8_t)newest)
 *  WEIGHTED s8_s16: kibi_remember_s16(sum, state, w, p->memory, newest)
 *  SVDF with a memory of int8 or of int16. Source of the rule: TFLM, micro/kernels/svdf_common.cc. */
#include "kibi_dot_1x1_s8.h"
#include "kibi_dot_4x1_s8.h"
#include "kibi_requantize.h"
#include "kibi_svdf_memory.h"
#include "kibi_svdf_units.h"

enum { BLOCK = 4 }; /* filters whose results are computed together */

/* The results of some filters. */
typedef struct {
    int32_t first;
    int32_t end;
    int32_t results[BLOCK];
} features;

/* Computes the results of the next filters. The last block has the last filters, of which some were computed before. */
static void next_features(features *f, const int8_t *x, const PARAMS *p)
{
    const int32_t filters = p->units * p->filters_per_unit;
    const int32_t block = filters < BLOCK ? 1 : BLOCK;
    f->first = f->end < filters - block ? f->end : filters - block;
    f->end = f->first + block;
    const int8_t *const w = KIBI_AT(int8_t, p, weights_feature) + f->first * p->depth;
    const int32_t *const bias = KIBI_AT(int32_t, p, feature_bias) + f->first;
    if (block == BLOCK) {
        kibi_dot_4x1_s8(f->results, bias, w, p->depth, x, p->depth);
    } else {
        f->results[0] = kibi_dot_1x1_s8(*bias, w, x, p->depth);
    }
}

/* True if all units of a vector were computed, by fours: those of one filter each, with a memory of whole words. */
static int by_fours(int8_t *output, const int8_t *x, STATE *state, const PARAMS *p)
{
    const int32_t *const bias = KIBI_AT(int32_t, p, feature_bias);
    int32_t results[BLOCK];
    kibi_svdf_units task;
    if (p->filters_per_unit != 1 || p->units % BLOCK != 0 || !(HAS_WORDS)) {
        return 0;
    }
    task.feature_multiplier = (int32_t)((uint32_t)p->feature_multiplier << 1);
    task.feature_shift = ~p->feature_shift;
    task.bias = KIBI_AT(int32_t, p, bias);
    task.state = state;
    task.weights = KIBI_AT(STATE, p, weights_time);
    task.memory = p->memory;
    task.output_multiplier = (int32_t)((uint32_t)p->output_multiplier << 1);
    task.output_shift = ~p->output_shift;
    task.output_zero_point = p->output_zero_point;
    task.output = output;
    task.results_end = results + BLOCK;
    task.state_zero_point = ZERO;
    for (int32_t filter = 0; filter < p->units; filter += BLOCK) {
        kibi_dot_4x1_s8(results, bias + filter, KIBI_AT(int8_t, p, weights_feature) + filter * p->depth, p->depth, x, p->depth);
        task.results = results;
        UNITS(&task);
    }
    return 1;
}

void KERNEL(int8_t *output, const int8_t *const *rows, const PARAMS *params, void *scratch, void *const *states)
{
    const PARAMS *const p = params;
    STATE *state = (STATE *)states[0];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int8_t *const x = rows[0] + batch * p->depth;
        if (by_fours(output, x, state, p) != 0) {
            output += p->units;
            state += p->units * p->memory;
            continue;
        }
        const STATE *w = KIBI_AT(STATE, p, weights_time);
        features f;
        int32_t filter = 0;
        f.first = 0; /* an initializer of all fields would be a call of the function that clears memory */
        f.end = 0;
        for (int32_t unit = 0; unit < p->units; ++unit) {
            int32_t sum = KIBI_AT(int32_t, p, bias)[unit];
            for (int32_t rank = 0; rank < p->filters_per_unit; ++rank) {
                if (filter == f.end) {
                    next_features(&f, x, p);
                }
                const int32_t scaled = kibi_requantize(f.results[filter - f.first], p->feature_multiplier, p->feature_shift);
                const int32_t newest = NEWEST;
                sum = WEIGHTED;
                state += p->memory;
                w += p->memory;
                ++filter;
            }
            const int32_t scaled = kibi_requantize(sum, p->output_multiplier, p->output_shift);
            *output++ = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), -128, 127);
        }
    }
}
