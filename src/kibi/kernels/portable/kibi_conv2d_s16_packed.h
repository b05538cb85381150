/* CONV_2D of int16 with packed filters: each kernel computes one output row. */
#ifndef KIBI_CONV2D_S16_PACKED_H
#define KIBI_CONV2D_S16_PACKED_H

#include "kibi.h"

typedef struct {
    /* for each pair of channels: both biases, [groups of four elements][2] words of weights, and both factors. A
     * word has four weights of a channel, the first, the third, the second and the fourth in its bytes; or where
     * weights have 16 bits, two, the first one in the lower half, and there are [pairs of elements][2] words. A
     * window is runs of elements that touch: its rows, or where columns are spread, the rows of each column. All
     * pairs of elements of all runs come first, then the last elements of runs of an odd number. Zeros fill up a
     * window to whole fours, and the channel after an odd last one. Biases include -input zero point * the sum of
     * the channel's filter; factors are the 15 bits of the multiplier that rule N26 leaves, times 2**(17 + shift).
     * Shifts are to the right by 1 ... 17, and all sums fit 32 bits */
    const int32_t *stream;
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width;
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min;
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;        /* across; the pointers to rows account for the stride and the dilation of rows */
    int16_t dilation;      /* across */
    int16_t pad;           /* columns of padding before the first input column */
    /* of a block: 3, and where two or four are left in a row, 2; or 2, and where one is left, 1; or 1 */
    int16_t pixels;
    int16_t weight_bits;   /* 8; or 16, where blocks have 3 pixels */
    /* 1: of 8 bits, where blocks have 3 pixels: the stream with weights of 16 bits is written after the windows,
     * once a row */
    int16_t is_widened;
} kibi_conv2d_s16_blocks_params;

/* CONV_2D of 16-bit elements and 8-bit weights in blocks of two channels and one to three pixels: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input. What is outside counts as 0.
 * scratch: aligned as words. The windows of a block's pixels, each filled up to whole fours. */
void kibi_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *params,
                            void *scratch);

typedef struct {
    /* [output_channels][7]: a bias and a factor, as in kibi_conv2d_s16_blocks_params; five words of two weights, the
     * first of each two in the lower half: the first two of each row, then the third ones of the first two rows, and
     * that of the last row, whose upper half is 1 in the last channel, and else 0 */
    const int32_t *channels;
    int16_t input_width;     /* at least 3 */
    int16_t output_width;
    int16_t output_channels;
    int16_t activation_min;  /* 0 or -32768 */
    int16_t activation_max;  /* 32767 */
    /* 0 or 1: columns of padding before the first input column; after the last one at most 1 */
    int16_t pad;
} kibi_conv2d_s16_3x3x1_params;

/* CONV_2D of int16 with a window of three by three on one input channel, by a stride of one: one output row, channel after channel of
 * each pixel.
 * output: [output_width][output_channels]; may overlap an input row where no pixel is written over one that is still read: a
 * pixel's window is read before its first channel is written.
 * rows: 3 pointers to [input_width]; NULL for a row outside the input, which holds zeros.
 * scratch: none. */
void kibi_conv2d_s16_3x3x1(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_3x3x1_params *params, void *scratch);

typedef struct {
    /* [output_channels, and zeros up to a multiple of 4][kernel_rows][kernel_width][input_channels] */
    const int8_t *filter;
    /* [output_channels / 4][8]: the biases of channels 0, 2, 1 and 3, and four factors, which are those of
     * kibi_conv2d_s16_blocks_params; zeros after the last channel. All sums fit 32 bits */
    const int32_t *scales;
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width;
    int16_t output_channels;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;        /* across; the pointers to rows account for the stride and the dilation of rows */
    int16_t pad;           /* columns of padding before the first input column, fewer than kernel_width */
    int16_t activation_min;
    int16_t activation_max;
} kibi_conv2d_s16_vectors_params;

/* CONV_2D of 16-bit elements and 8-bit weights, or FULLY_CONNECTED as one, four channels of one or three pixels at a time: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its last four channels are written, or as many as are left after whole fours.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input. What is outside counts as 0.
 * scratch: none. */
void kibi_conv2d_s16_vectors(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_vectors_params *params, void *scratch);

#endif
