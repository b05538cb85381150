/* CONV_2D, one output row at a time, in blocks of two channels and two to four pixels. */
#ifndef KIBI_CONV2D_S8_BLOCKS_H
#define KIBI_CONV2D_S8_BLOCKS_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* [pairs of channels][groups of four elements][2]: each word has four weights in halves, in the order in which
     * kibi_halves_s8.h adds them up; zeros follow a window's last element, and fill the channel after an odd last
     * one. Where the number of input channels is not a multiple of four, the whole fours of each of a window's rows
     * come first, then the rests of all rows, side by side */
    const int32_t *filter;
    /* [pairs of channels][5]: the numbers from which both sums start, both multipliers, and ~shift of both in the
     * two lowest bytes. A sum starts from 256 times the bias, which includes -input_zero_point * the sum of the
     * channel's filter, minus 127 times the sum of the channel's second weights. Shifts are to the right by at least
     * 1, and no true sum reaches 2**23 in magnitude */
    const int32_t *channels;
    /* the input's zero point, once for each element of the most neighbouring columns of a window that are outside
     * the input */
    const int8_t *padding;
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width;    /* at least 2 */
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min;  /* -128 ... 127 */
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;          /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;        /* across */
    int16_t pad;             /* columns of padding before the first input column */
    /* 4: blocks of four pixels, and of three and two for the rest; 3: blocks of three, and of two for the rest; 2:
     * blocks of two, where the output's width is even */
    int16_t pixels;
} kibi_conv2d_s8_blocks_params;

/* output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. For each of the block's pixels, its window's elements, rounded up to whole fours, with 16 bits
 * each; where the input's channels are no multiple of four, and once more with 8. */
void kibi_conv2d_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *params,
                           void *scratch);

#ifdef __cplusplus
}
#endif

#endif
