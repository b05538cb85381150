/* CONV_2D of layers some of whose channels fast kernels cannot compute: each kernel computes one output row. */
#ifndef KIBI_CONV2D_ODD_H
#define KIBI_CONV2D_ODD_H

#include "kibi_conv2d.h"
#include "kibi_conv2d_winograd.h"

typedef struct {
    /* [output_channels][7]: a bias, which includes -input_zero_point * the sum of the channel's filter; five words
     * with the nine weights, row after row, in pairs, the first of a pair in the lower half, and before the ninth,
     * which is in an upper half, ~shift, where the shift is to the right by at least 1; the doubled multiplier minus
     * 2**32, where the multiplier is 2**30 ... 2**31 - 1 */
    const int32_t *channels;
    int32_t input_width;
    int32_t input_zero_point;      /* -128 ... 127 */
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;     /* -128 ... 127 */
    int32_t activation_min;        /* -128 ... 127 */
    int32_t activation_max;        /* -128 ... 127 */
    int32_t stride;                /* across; the pointers to rows account for the stride of rows */
    int32_t pad;                   /* columns of padding before the first input column */
    int32_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][3][3] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_conv2d_s8_3x3x1_odd_params;

/* What kibi_conv2d_s8_3x3x1 computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_conv2d_s8_3x3x1.
 * scratch: aligned as words. odd_count * output_width bytes, rounded up to whole words; then that of kibi_conv2d_s8_3x3x1. */
void kibi_conv2d_s8_3x3x1_odd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_3x3x1_odd_params *params, void *scratch);

typedef struct {
    /* for each pair of channels: the numbers from which both sums start, [groups of four elements][2] words of
     * weights, and both multipliers. A word has four weights in packed pairs, in the order in which
     * kibi_packed_pairs_s8.h adds them up; zeros follow a window's last element, and fill the channel after an odd
     * last one. Where the number of input channels is not a multiple of four, the whole fours of each of a window's
     * rows come first, then the rests of all rows, side by side. Of int4, a group has one word for both channels,
     * with each weight w as w + 8 in four bits: in the byte that it has in packed pairs, the first channel's in the
     * lower half, the second one's in the upper half. A sum starts from 256 times the bias, which includes
     * -input_zero_point * the sum of the channel's filter, minus 127 times the sum of the channel's second weights,
     * plus ~shift, which is the lowest byte of every sum at the end. Shifts are to the right by at least 1, and no
     * true sum reaches 2**23 in magnitude. Where outputs are rounded once, an addend is there in place of ~shift,
     * and factors in place of multipliers, as kibi_round_once wants them */
    const int32_t *stream;
    /* the input's zero point, once for each element of the most neighbouring columns of a window that are outside
     * the input */
    const int8_t *padding;
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width;          /* at least 2 */
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min;        /* -128 ... 127 */
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;                /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;              /* across */
    int16_t pad;                   /* columns of padding before the first input column */
    /* 4: blocks of four pixels, and of three and two for the rest; 3: blocks of three, and of two for the rest; 2:
     * blocks of two, where the output's width is even */
    int16_t pixels;
    /* whose windows are in scratch at once, at least 1; of one size, so that weights are read once for all */
    int16_t blocks;
    int16_t rounds_once;           /* 1: outputs are rounded once, with a fraction of 11 bits; 0: twice */
    int16_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][kernel_rows][kernel_width][input_channels] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_conv2d_s8_blocks_odd_params;

/* What kibi_conv2d_s8_blocks computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_conv2d_s8_blocks.
 * scratch: aligned as words. odd_count * output_width bytes, rounded up to whole words; then that of kibi_conv2d_s8_blocks. */
void kibi_conv2d_s8_blocks_odd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_odd_params *params, void *scratch);

typedef struct {
    /* of piece after piece: [pairs of channels][groups of four elements][2]: each word has four weights in packed
     * pairs, in the order in which kibi_packed_pairs_s8.h adds them up; zeros fill the channel after an odd last one */
    const int32_t *filter;
    /* [pairs of channels][4]: the numbers from which both sums start, and both multipliers or factors, as in
     * kibi_conv2d_s8_blocks_params */
    const int32_t *channels;
    const int8_t *padding;         /* the input's zero point, once for each input channel */
    int16_t input_width;
    int16_t input_channels;        /* a multiple of 4 */
    int16_t output_width;
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min;        /* -128 ... 127 */
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;                /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;              /* across */
    int16_t pad;                   /* columns of padding before the first input column */
    int16_t elements_at_once;      /* elements of a window in a piece, a multiple of 4 */
    int16_t pairs_at_once;         /* pairs of channels whose sums are kept */
    int16_t rounds_once;           /* 1: outputs are rounded once, with a fraction of 11 bits; 0: twice */
    int16_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][kernel_rows][kernel_width][input_channels] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_conv2d_s8_pieces_odd_params;

/* What kibi_conv2d_s8_pieces computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_conv2d_s8_pieces.
 * scratch: aligned as words. odd_count * output_width bytes, rounded up to whole words; then that of kibi_conv2d_s8_pieces. */
void kibi_conv2d_s8_pieces_odd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_pieces_odd_params *params, void *scratch);

typedef struct {
    /* what the kernel reads, in order: for each pass over the kernel's rows and the input's channels, and in it for
     * each pair of output channels: in the first pass the numbers from which both sums start; the weights of the
     * pass, as [rows_at_once][groups of four of channels_at_once][3][2] words of four weights in packed pairs, in
     * the order in which kibi_packed_pairs_s8.h adds them up; in the last pass both multipliers. Weights and
     * multiplier are 0 for the channel after an odd last one. A sum starts from 256 times the bias, which includes
     * -input_zero_point * the sum of the channel's filter, minus 127 times the sum of the channel's second weights,
     * plus ~shift, which is the lowest byte of every sum at the end. Shifts are to the right by at least 1, and no
     * true sum reaches 2**23 in magnitude */
    const int32_t *stream;
    const int8_t *padding;         /* the input's zero point, once for each input channel */
    int32_t input_width;
    int32_t input_channels;        /* a multiple of 4 */
    int32_t output_width;          /* at least 2 */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;        /* -128 ... 127 */
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t rows_at_once;          /* kernel rows in one pass: all, or 1 */
    /* input channels in one pass: all, or, of one row, a multiple of 4 that divides them */
    int32_t channels_at_once;
    /* output channels for which columns are widened once: all; or, of an even number and in several passes, another
     * one; fewer come first where that is no divisor */
    int32_t outputs_at_once;
    int32_t pad;                   /* columns of padding before the first input column */
    /* 4: blocks of four pixels, and of three and two for the rest; 3: blocks of three pixels, and of two where one
     * or two times two are left; 2: blocks of two, where the output's width is even */
    int32_t pixels;
    /* 2: two neighbouring blocks of four pixels are computed at once, so that weights are read once for both; then
     * all channels and rows are at once, columns have an even number of fours, at least four, and output channels
     * are even in number; else 1 */
    int32_t blocks;
    /* across, 1, or 2 where all blocks have four pixels; the pointers to rows account for the stride of rows */
    int32_t stride;
    int32_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][kernel_rows][3][input_channels] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_conv2d_s8_columns_odd_params;

/* What kibi_conv2d_s8_columns computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_conv2d_s8_columns.
 * scratch: aligned as words. odd_count * output_width bytes, rounded up to whole words; then that of kibi_conv2d_s8_columns. */
void kibi_conv2d_s8_columns_odd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_columns_odd_params *params, void *scratch);

typedef struct {
    /* what the kernel reads, in order, for each pair of channels: both biases, doubled; the sums a + b + c, then the
     * differences a - b + c of the kernel's columns a, b, c; 2 * c; the scaling; 2 * a; and the scaling again.
     * Weights are [kernel_rows][groups of four input channels][2][2] words, both channels' elements 0 and 2 of a
     * group in the halves of two, then 1 and 3. The scaling is ~shift of both channels in the two lowest bytes of a
     * word, and both multipliers. Everything is 0 for the channel after an odd last one. The bias includes
     * -input_zero_point * the sum of the channel's filter. Shifts are to the right by at least 1, and no sum reaches
     * 2**30 in magnitude */
    const int32_t *stream;
    const int8_t *padding;         /* the input's zero point, once for each input channel */
    int32_t input_width;
    int32_t input_channels;        /* a multiple of 4 */
    int32_t output_width;          /* at least 3 */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;        /* -128 ... 127 */
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t pad;                   /* columns of padding before the first input column */
    /* of two pixels each. 4: blocks of four tiles, and of three and two for the rest; 3: blocks of three, and of two
     * where two or four are left; 2: blocks of two, where the number of tiles is even */
    int32_t tiles;
    int32_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][kernel_rows][3][input_channels] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_conv2d_s8_winograd_odd_params;

/* What kibi_conv2d_s8_winograd computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_conv2d_s8_winograd.
 * scratch: aligned as words. odd_count * output_width bytes, rounded up to whole words; then that of kibi_conv2d_s8_winograd. */
void kibi_conv2d_s8_winograd_odd(int8_t *output, const int8_t *const *rows,
                                 const kibi_conv2d_s8_winograd_odd_params *params, void *scratch);

#endif
