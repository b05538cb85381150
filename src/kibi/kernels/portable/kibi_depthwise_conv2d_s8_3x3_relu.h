/* DEPTHWISE_CONV_2D with multiplier 1, a window of three by three and an activation that cuts off what is below the output's
 * zero point: one output row, four channels at a time. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_3X3_RELU_H
#define KIBI_DEPTHWISE_CONV2D_S8_3X3_RELU_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* [blocks of four channels][30]; the kernel's header describes a block. Where the number of channels is not a
     * multiple of four, the last block has the last four, some of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;          /* at least 4 */
    int16_t input_zero_point;  /* -128 ... 127 */
    int16_t output_width;
    int16_t output_zero_point; /* -128 ... 127 */
    int16_t activation_min;    /* -128 ... 127 */
    int16_t activation_max;    /* -128 ... 127 */
    int16_t stride;            /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;          /* across */
    /* columns of padding before the first input column; the middle of every window is inside the input */
    int16_t pad;
} kibi_depthwise_conv2d_s8_3x3_relu_params;

/* A block: four biases, with -input_zero_point * sum of the channel's filter in them; then weights, in pairs, each a word for
 * each channel with the first of them in the lower half: the first two rows of the window's left column; the third row of
 * the left and the middle column; the first two rows of the middle column; the first two rows of the right one; then those
 * of the third row of the right column, for channels 0 and 2, and for 1 and 3; four multipliers, doubled, less 2**32 (they
 * are 2**30 … 2**31 - 1); four times ~shift, all shifts being to the right by at least 1. A sum that was multiplied, and
 * shifted to the right by ~shift, fits 16 bits. */

/* output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * four channels are written in order, and of a window they are read right before.
 * rows: 3 pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_depthwise_conv2d_s8_3x3_relu(int8_t *output, const int8_t *const *rows,
                                       const kibi_depthwise_conv2d_s8_3x3_relu_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
