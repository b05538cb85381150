/* DEPTHWISE_CONV_2D with multiplier 1 and any window: one output row, four channels at a time. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_COLUMNS_H
#define KIBI_DEPTHWISE_CONV2D_S8_COLUMNS_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* [blocks of four channels][words]; the kernel's header describes a block. Where the number of channels is not a
     * multiple of four, the last block has the last four, some of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;          /* at least 4 */
    int16_t input_zero_point;  /* -128 ... 127 */
    int16_t output_width;
    int16_t output_zero_point; /* -128 ... 127 */
    int16_t activation_min;    /* -128 ... 127 */
    int16_t activation_max;    /* -128 ... 127 */
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;            /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;          /* across */
    int16_t pad;               /* columns of padding before the first input column */
} kibi_depthwise_conv2d_s8_columns_params;

/* A block: four biases, with -input_zero_point * sum of the channel's filter in them; for each column of the window, left to
 * right, and each two rows of it, the weights of the first and, in the upper half of the same word, of the second, for each
 * channel; behind them, for an odd last row, its weights for channels 0 and 2, and for 1 and 3; four multipliers, doubled,
 * less 2**32 (they are 2**30 … 2**31 - 1); four times ~shift, all shifts being to the right by at least 1. */

/* output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * four channels are written in order, and of a window they are read right before.
 * rows: kernel_rows pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_depthwise_conv2d_s8_columns(int8_t *output, const int8_t *const *rows,
                                      const kibi_depthwise_conv2d_s8_columns_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
