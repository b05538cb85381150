/* Fast kernels of layers some of whose channels they cannot compute. kibi/kernels/templates.py says how a template is read. */

/*= kibi_FAST_odd
 *  FAST: conv2d_s8_blocks conv2d_s8_pieces
 *  CONSTANTS conv2d_s8_blocks: KIBI_AT(int32_t, p, stream)
 *  CONSTANTS conv2d_s8_pieces: KIBI_AT(int32_t, p, filter), KIBI_AT(int32_t, p, channels)
 *  LAST conv2d_s8_blocks: p->pixels, p->blocks, p->rounds_once
 *  LAST conv2d_s8_pieces: p->elements_at_once, p->pairs_at_once, p->rounds_once
 *  By kibi_FAST, but for some channels, int8. Source of the rule: TFLM, integer_ops/conv.h. */
#include "kibi_odd_channels_s8.h"

void KERNEL(int8_t *output, const int8_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const kibi_FAST_params fast = {
        CONSTANTS, KIBI_AT(int8_t, p, padding), p->input_width, p->input_channels,
        p->output_width, p->output_channels, p->output_zero_point, p->activation_min, p->activation_max,
        p->kernel_rows, p->kernel_width, p->stride, p->dilation, p->pad, LAST};
    const kibi_odd_channels odd = {
        KIBI_AT(int8_t, p, odd_filter), KIBI_AT(int32_t, p, odd_numbers), KIBI_AT(int32_t, p, odd_bias),
        KIBI_AT(int32_t, p, odd_multiplier), KIBI_AT(int8_t, p, odd_shift), p->odd_count,
        p->input_width, p->input_channels, p->input_channels, KIBI_AT(int8_t, p, padding)[0],
        p->output_width, p->output_channels, p->output_zero_point, p->activation_min, p->activation_max,
        p->kernel_rows, p->kernel_width, p->stride, p->dilation, p->pad};
    int8_t *const made = (int8_t *)scratch;
    KIBI_ASSERT(scratch != NULL);
    kibi_odd_channels_s8(made, rows, &odd);
    kibi_FAST(output, rows, &fast, made + ((p->odd_count * p->output_width + 3) & ~3));
    kibi_place_odd_channels(output, made, &odd);
}

/*= kibi_FAST_odd
 *  FAST: conv2d_s8_columns conv2d_s8_winograd
 *  LAST conv2d_s8_columns: p->rows_at_once, p->channels_at_once, p->outputs_at_once, p->pad, p->pixels, p->blocks, p->stride
 *  LAST conv2d_s8_winograd: p->pad, p->tiles
 *  STRIDE conv2d_s8_columns: p->stride
 *  STRIDE conv2d_s8_winograd: 1
 *  By kibi_FAST, but for some channels, int8. Source of the rule: TFLM, integer_ops/conv.h. */
#include "kibi_odd_channels_s8.h"

void KERNEL(int8_t *output, const int8_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const kibi_FAST_params fast = {
        KIBI_AT(int32_t, p, stream), KIBI_AT(int8_t, p, padding), p->input_width, p->input_channels,
        p->output_width, p->output_channels, p->output_zero_point, p->activation_min, p->activation_max,
        p->kernel_rows, LAST};
    const kibi_odd_channels odd = {
        KIBI_AT(int8_t, p, odd_filter), KIBI_AT(int32_t, p, odd_numbers), KIBI_AT(int32_t, p, odd_bias),
        KIBI_AT(int32_t, p, odd_multiplier), KIBI_AT(int8_t, p, odd_shift), p->odd_count,
        p->input_width, p->input_channels, p->input_channels, KIBI_AT(int8_t, p, padding)[0],
        p->output_width, p->output_channels, p->output_zero_point, p->activation_min, p->activation_max,
        p->kernel_rows, 3, STRIDE, 1, p->pad};
    int8_t *const made = (int8_t *)scratch;
    KIBI_ASSERT(scratch != NULL);
    kibi_odd_channels_s8(made, rows, &odd);
    kibi_FAST(output, rows, &fast, made + ((p->odd_count * p->output_width + 3) & ~3));
    kibi_place_odd_channels(output, made, &odd);
}

/*= kibi_FAST_odd
 *  FAST: conv2d_s8_3x3x1
 *  By kibi_FAST, but for some channels, int8. Source of the rule: TFLM, integer_ops/conv.h. */
#include "kibi_odd_channels_s8.h"

void KERNEL(int8_t *output, const int8_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const kibi_FAST_params fast = {
        KIBI_AT(int32_t, p, channels), p->input_width, p->input_zero_point,
        p->output_width, p->output_channels, p->output_zero_point, p->activation_min, p->activation_max,
        p->stride, p->pad};
    const kibi_odd_channels odd = {
        KIBI_AT(int8_t, p, odd_filter), KIBI_AT(int32_t, p, odd_numbers), KIBI_AT(int32_t, p, odd_bias),
        KIBI_AT(int32_t, p, odd_multiplier), KIBI_AT(int8_t, p, odd_shift), p->odd_count,
        p->input_width, 1, 1, p->input_zero_point,
        p->output_width, p->output_channels, p->output_zero_point, p->activation_min, p->activation_max,
        3, 3, p->stride, 1, p->pad};
    int8_t *const made = (int8_t *)scratch;
    KIBI_ASSERT(scratch != NULL);
    kibi_odd_channels_s8(made, rows, &odd);
    kibi_FAST(output, rows, &fast, NULL);
    kibi_place_odd_channels(output, made, &odd);
}

/*= kibi_FAST_odd
 *  FAST: depthwise_conv2d_s8_3x3 depthwise_conv2d_s8_3x3_relu depthwise_conv2d_s8_columns
 *  STRUCT depthwise_conv2d_s8_3x3, depthwise_conv2d_s8_3x3_relu: kibi_depthwise_conv2d_s8_3x3_params
 *  STRUCT depthwise_conv2d_s8_columns: kibi_depthwise_conv2d_s8_columns_params
 *  WINDOW depthwise_conv2d_s8_3x3, depthwise_conv2d_s8_3x3_relu: p->stride, p->dilation, p->pad
 *  WINDOW depthwise_conv2d_s8_columns: p->kernel_rows, p->kernel_width, p->stride, p->dilation, p->pad
 *  SIZE depthwise_conv2d_s8_3x3, depthwise_conv2d_s8_3x3_relu: 3, 3
 *  SIZE depthwise_conv2d_s8_columns: p->kernel_rows, p->kernel_width
 *  By kibi_FAST, but for some channels, int8. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_odd_channels_s8.h"

void KERNEL(int8_t *output, const int8_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const STRUCT fast = {
        KIBI_AT(int32_t, p, blocks), p->input_width, p->channels, p->input_zero_point,
        p->output_width, p->output_zero_point, p->activation_min, p->activation_max, WINDOW};
    const kibi_odd_channels odd = {
        KIBI_AT(int8_t, p, odd_filter), KIBI_AT(int32_t, p, odd_numbers), KIBI_AT(int32_t, p, odd_bias),
        KIBI_AT(int32_t, p, odd_multiplier), KIBI_AT(int8_t, p, odd_shift), p->odd_count,
        p->input_width, p->channels, 1, p->input_zero_point,
        p->output_width, p->channels, p->output_zero_point, p->activation_min, p->activation_max,
        SIZE, p->stride, p->dilation, p->pad};
    int8_t *const made = (int8_t *)scratch;
    KIBI_ASSERT(scratch != NULL);
    kibi_odd_channels_s8(made, rows, &odd);
    kibi_FAST(output, rows, &fast, NULL);
    kibi_place_odd_channels(output, made, &odd);
}

/*= kibi_FAST_odd
 *  FAST: fully_connected_s8_blocks
 *  By kibi_FAST, but for some channels, int8. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_odd_channels_s8.h"

void KERNEL(int8_t *output, const int8_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const kibi_FAST_params fast = {
        KIBI_AT(int32_t, p, filter), KIBI_AT(int32_t, p, scales), p->scale_step, p->piece, p->pieces, p->vectors,
        p->row_elements, p->output_channels, p->rounding, p->clamps, p->activation_min, p->activation_max,
        p->rounds_once};
    const int32_t vectors = p->row_elements / p->piece;
    const kibi_odd_channels odd = {
        KIBI_AT(int8_t, p, odd_filter), KIBI_AT(int32_t, p, odd_numbers), KIBI_AT(int32_t, p, odd_bias),
        KIBI_AT(int32_t, p, odd_multiplier), KIBI_AT(int8_t, p, odd_shift), p->odd_count,
        vectors, p->piece, p->piece, 0,
        vectors, p->output_channels, p->rounding >> 1, p->activation_min, p->activation_max,
        p->pieces, 1, 1, 1, 0};
    int8_t *made = (int8_t *)scratch;
    const int8_t *const *next = rows;
    KIBI_ASSERT(scratch != NULL);
    for (int32_t vector = 0; vector < p->vectors; vector += vectors) {
        kibi_odd_channels_s8(made, next, &odd);
        made += vectors * p->odd_count;
        next += p->pieces;
    }
    kibi_FAST(output, rows, &fast, NULL);
    made = (int8_t *)scratch;
    for (int32_t vector = 0; vector < p->vectors; vector += vectors) {
        kibi_place_odd_channels(output, made, &odd);
        made += vectors * p->odd_count;
        output += vectors * p->output_channels;
    }
}
