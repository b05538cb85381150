/* CONV_2D, one output row at a time, in blocks of two channels and two to four pixels. */
#ifndef KIBI_CONV2D_S8_BLOCKS_H
#define KIBI_CONV2D_S8_BLOCKS_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int32_t *filter;   /* [pairs of channels][groups of four elements][2]: each four weights in halves, as
                                kibi_halves_s8.h adds them up; zeros behind a window's last element, and for the channel
                                behind an odd last one. Where the input's channels are no multiple of four, first come the
                                whole fours of each of a window's rows, then the rests of all rows, side by side */
    const int32_t *channels; /* [pairs of channels][5]: what both sums begin with, both multipliers, and ~shift of both in the
                                two lowest bytes. Sums begin with 256 times the bias, which has -input_zero_point * sum of
                                the channel's filter in it, less 127 times the channel's second weights. Shifts are to the
                                right by at least 1, and no true sum reaches 2**23 in magnitude */
    const int8_t *padding;   /* the input's zero point, for the most neighbouring columns of a window outside the input */
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width; /* at least 2 */
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min; /* -128 … 127 */
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride; /* across; the rows' stride is in the pointers */
    int16_t dilation; /* across */
    int16_t pad;      /* in front of the first column */
    int16_t pixels;   /* 4: blocks of four pixels, and of three and two for the rest; 3: of three, and of two for the rest;
                         2: of two, where the output's width is even */
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
