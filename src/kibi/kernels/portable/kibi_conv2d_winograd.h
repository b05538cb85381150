/* CONV_2D of int8 by Winograd's algorithm: kernels of one output row, and of all, two at a time. */
#ifndef KIBI_CONV2D_WINOGRAD_H
#define KIBI_CONV2D_WINOGRAD_H

#include "kibi.h"

typedef struct {
    /* what the kernel reads, in order, for each pair of channels: both biases, doubled; the sums a + b + c, then the
     * differences a - b + c of the kernel's columns a, b, c; 2 * c; the scaling; 2 * a; and the scaling again.
     * Weights are [kernel_rows][groups of four input channels][2][2] words, both channels' elements 0 and 2 of a
     * group in the halves of two, then 1 and 3. The scaling is ~shift of both channels in the two lowest bytes of a
     * word, and both multipliers. Everything is 0 for the channel after an odd last one. The bias includes
     * -input_zero_point * the sum of the channel's filter. Shifts are to the right by at least 1, and no sum reaches
     * 2**30 in magnitude */
    const int32_t *stream;
    const int8_t *padding;  /* the input's zero point, once for each input channel */
    int32_t input_width;
    int32_t input_channels; /* a multiple of 4 */
    int32_t output_width;   /* at least 3 */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min; /* -128 ... 127 */
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t pad;            /* columns of padding before the first input column */
    /* of two pixels each. 4: blocks of four tiles, and of three and two for the rest; 3: blocks of three, and of two
     * where two or four are left; 2: blocks of two, where the number of tiles is even */
    int32_t tiles;
} kibi_conv2d_s8_winograd_params;

/* CONV_2D with a kernel three columns wide, one output row at a time: two pixels from four products instead of six, by
 * Winograd's F(2,3) in exact integers.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. Four columns for each tile of a block, of each kernel row, with 16 bits for each element. */
void kibi_conv2d_s8_winograd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_winograd_params *params,
                             void *scratch);

typedef struct {
    /* what the kernel reads, in order, for each pair of channels: both biases, times four, which include
     * -input_zero_point * the sum of the channel's filter; ~shift of both channels in the two lowest bytes of a
     * word, where shifts are to the right by at least 1; both multipliers; 16 planes of weights, each [groups of
     * four input channels][2][2] words, both channels' elements 0 and 2 of a group in the halves of two, then 1 and
     * 3. The window's rows a, b, c become a + b + c, a - b + c, 2 * c and 2 * a, and columns d, e, f of these d + e
     * + f, d - e + f, f and d: the planes of the first one of columns come first. No sum of a bias and products
     * reaches 2**31 in magnitude */
    const int32_t *stream;
    int32_t input_width;
    int32_t input_channels;    /* a multiple of 4 */
    int32_t output_width;      /* at least 8 */
    int32_t output_channels;   /* a multiple of 2 */
    int32_t input_zero_point;  /* -128 ... 127 */
    int32_t output_zero_point; /* -128 ... 127 */
    int32_t activation_min;    /* -128 ... 127 */
    int32_t activation_max;    /* -128 ... 127 */
    int32_t input_rows;
    int32_t output_rows;       /* at least 2 */
    int32_t pad_rows;          /* rows of padding before the first input row, 0 ... 2 */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_row_pairs_params;

/* CONV_2D with a window of three by three, all output rows in one call, two at a time: four pixels from 16 products instead of
 * 36, by Winograd's F(2x2, 3x3) in exact integers.
 * output: [output_rows][output_width][output_channels]; may overlap the input where no two rows are written over elements that are
 * still read: four rows of the input are read before the first two that are made of them are written.
 * rows: pointers to the three rows that the first output row reads, [input_width][input_channels] each. A row outside the input holds
 * the zero point; all rows inside follow the first one, one after another. Where rows after the last one are outside, the first is, too.
 * scratch: aligned as words. With output_width + 2 columns, 8 bytes for each element of a column, and 128 for each input channel. */
void kibi_conv2d_s8_row_pairs(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_row_pairs_params *params,
                              void *scratch);

#endif
