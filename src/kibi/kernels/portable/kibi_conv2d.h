/* CONV_2D: each kernel computes one output row. */
#ifndef KIBI_CONV2D_H
#define KIBI_CONV2D_H

#include "kibi.h"

typedef struct {
    const float *filter; /* [output_channels][kernel_rows][kernel_width][input_channels / groups] */
    const float *bias;   /* [output_channels] */
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t groups;      /* divides both channel counts */
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;      /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;    /* across */
    int32_t pad;         /* columns of padding before the first input column */
    float activation_min;
    float activation_max;
} kibi_conv2d_f32_params;

/* CONV_2D of floats: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no element is written over one that is still
 * read: elements are written in order, and a pixel's window is read until its last channel is computed.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input.
 * Products are added row by row, column by column, channel by channel; the bias comes last.
 * scratch: none. */
void kibi_conv2d_f32(float *output, const float *const *rows, const kibi_conv2d_f32_params *params, void *scratch);

typedef struct {
    const int8_t *filter;      /* [output_channels][kernel_rows][kernel_width][input_channels / groups] */
    const int64_t *bias;       /* [output_channels], below 2**46 in magnitude */
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 7 where is_wide, else -31 ... 30 */
    /* 1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice */
    int32_t is_wide;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t groups;            /* divides both channel counts */
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
    int32_t activation_min;
    int32_t activation_max;
} kibi_conv2d_s16_params;

/* CONV_2D of 16-bit elements and 8-bit weights: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no element is written over one that is still
 * read: elements are written in order, and a pixel's window is read until its last channel is computed.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input. Zero points are 0.
 * scratch: none. */
void kibi_conv2d_s16(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_params *params, void *scratch);

typedef struct {
    const int8_t *filter;      /* [output_channels][kernel_rows][kernel_width][input_channels / groups] */
    /* [output_channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    /* the input's zero point, once for each element of the most neighbouring columns of a window that are outside
     * the input */
    const int8_t *padding;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t groups;            /* divides both channel counts */
    /* 1: the kernel copies windows into scratch, two at a time; 0: it reads them in place */
    int32_t uses_im2col;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_params;

/* CONV_2D: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no pixel is written over elements that are still
 * read: pixels are written in order, and a pixel's window is read before its first channel is written where it gathers (both
 * of a pair's), else until its last channel is.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: where it gathers, kernel_rows * kernel_width * input_channels / groups bytes for each of two pixels, or for the
 * only one, any alignment; else none. */
void kibi_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_params *params, void *scratch);

typedef struct {
    /* [output_channels][7]: a bias, which includes -input_zero_point * the sum of the channel's filter; five words
     * with the nine weights, row after row, in pairs, the first of a pair in the lower half, and before the ninth,
     * which is in an upper half, ~shift, where the shift is to the right by at least 1; the doubled multiplier minus
     * 2**32, where the multiplier is 2**30 ... 2**31 - 1 */
    const int32_t *channels;
    int32_t input_width;
    int32_t input_zero_point;  /* -128 ... 127 */
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point; /* -128 ... 127 */
    int32_t activation_min;    /* -128 ... 127 */
    int32_t activation_max;    /* -128 ... 127 */
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_3x3x1_params;

/* CONV_2D with a window of three by three on one input channel: one output row, channel after channel of each pixel.
 * output: [output_width][output_channels]; may overlap an input row where no pixel is written over one that is still read: a
 * pixel's window is read before its first channel is written.
 * rows: 3 pointers to [input_width]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_conv2d_s8_3x3x1(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_3x3x1_params *params,
                          void *scratch);

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
    int16_t output_width;   /* at least 2 */
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min; /* -128 ... 127 */
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;         /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;       /* across */
    int16_t pad;            /* columns of padding before the first input column */
    /* 4: blocks of four pixels, and of three and two for the rest; 3: blocks of three, and of two for the rest; 2:
     * blocks of two, where the output's width is even */
    int16_t pixels;
    /* whose windows are in scratch at once, at least 1; of one size, so that weights are read once for all */
    int16_t blocks;
    int16_t rounds_once;    /* 1: outputs are rounded once, with a fraction of 11 bits; 0: twice */
} kibi_conv2d_s8_blocks_params;

/* CONV_2D, one output row at a time, in blocks of two channels and two to four pixels.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. For each of the block's pixels, its window's elements, rounded up to whole fours, with 16 bits
 * each; where the input's channels are no multiple of four, and once more with 8. */
void kibi_conv2d_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *params,
                           void *scratch);

/* The same with weights of int4. */
void kibi_conv2d_s8_int4_blocks(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *params,
                                void *scratch);

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
    const int8_t *padding;    /* the input's zero point, once for each input channel */
    int32_t input_width;
    int32_t input_channels;   /* a multiple of 4 */
    int32_t output_width;     /* at least 2 */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;   /* -128 ... 127 */
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t rows_at_once;     /* kernel rows in one pass: all, or 1 */
    int32_t channels_at_once; /* input channels in one pass: all, or, of one row, a multiple of 4 that divides them */
    /* output channels for which columns are widened once: all; or, of an even number and in several passes, another
     * one; fewer come first where that is no divisor */
    int32_t outputs_at_once;
    int32_t pad;              /* columns of padding before the first input column */
    /* 4: blocks of four pixels, and of three and two for the rest; 3: blocks of three pixels, and of two where one
     * or two times two are left; 2: blocks of two, where the output's width is even */
    int32_t pixels;
    /* 2: two neighbouring blocks of four pixels are computed at once, so that weights are read once for both; then
     * all channels and rows are at once, columns have an even number of fours, at least four, and output channels
     * are even in number; else 1 */
    int32_t blocks;
    /* across, 1, or 2 where all blocks have four pixels; the pointers to rows account for the stride of rows */
    int32_t stride;
} kibi_conv2d_s8_columns_params;

/* CONV_2D with a kernel three columns wide, one output row at a time: the pixels of a block share the columns they read.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. Two columns more than a block has pixels, of what is in a pass, with 16 bits for each element; and
 * where there are several passes 6 words for each pair of channels. */
void kibi_conv2d_s8_columns(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_columns_params *params,
                            void *scratch);

typedef struct {
    /* of [output_channels][kernel_rows][kernel_width][input_channels] values, packed as kibi_codebook_s8.h says */
    const int8_t *indices;
    const int8_t *tables;      /* the values of each channel, or those that all channels share */
    /* [output_channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    /* the input's zero point, once for each element of the most neighbouring columns of a window that are outside
     * the input */
    const int8_t *padding;
    int32_t bits;              /* bits of an index, 1 ... 7 */
    int32_t values;            /* values from one channel's table to the next; 0: all channels share one table */
    int32_t at_once;           /* output channels whose filters are decoded together */
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* 1: the kernel copies windows into scratch, two at a time; 0: it reads them in place */
    int32_t uses_im2col;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_codebook_params;

/* CONV_2D with a filter of indices into tables: one output row.
 * output: [output_width][output_channels]; where all channels are decoded at once it may overlap an input row, else none.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: for each of the channels that are decoded at once kernel_rows * kernel_width * input_channels + output_width bytes;
 * where it gathers, the former once more for each of two pixels, or for the only one. Any alignment. */
void kibi_conv2d_s8_codebook(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_codebook_params *params,
                             void *scratch);

typedef struct {
    /* [blocks of four channels][words for kernel_rows * kernel_width * input_channels elements], as kibi_int4_s8.h
     * says */
    const int32_t *filter;
    /* [output_channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t input_width;
    int32_t input_channels;
    int32_t input_zero_point;  /* -128 ... 127 */
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* 1: the kernel copies each window into scratch; 0: windows are inside of the input, each in one piece, and it
     * reads them in place */
    int32_t gathers;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_int4_params;

/* CONV_2D with a filter of int4, which is unpacked as it is used: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no pixel is written over elements that are still
 * read: pixels are written in order, up to four channels at a time. Where it gathers, a pixel's window is read before its first
 * channel is written; else until its last channels are.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: where it gathers, kernel_rows * kernel_width * input_channels bytes, any alignment; else none. */
void kibi_conv2d_s8_int4(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_int4_params *params,
                         void *scratch);

typedef struct {
    /* of piece after piece: [pairs of channels][groups of four elements][2]: each word has four weights in packed
     * pairs, in the order in which kibi_packed_pairs_s8.h adds them up; zeros fill the channel after an odd last one */
    const int32_t *filter;
    /* [pairs of channels][4]: the numbers from which both sums start, and both multipliers or factors, as in
     * kibi_conv2d_s8_blocks_params */
    const int32_t *channels;
    const int8_t *padding;    /* the input's zero point, once for each input channel */
    int16_t input_width;
    int16_t input_channels;   /* a multiple of 4 */
    int16_t output_width;
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min;   /* -128 ... 127 */
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;           /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;         /* across */
    int16_t pad;              /* columns of padding before the first input column */
    int16_t elements_at_once; /* elements of a window in a piece, a multiple of 4 */
    int16_t pairs_at_once;    /* pairs of channels whose sums are kept */
    int16_t rounds_once;      /* 1: outputs are rounded once, with a fraction of 11 bits; 0: twice */
} kibi_conv2d_s8_pieces_params;

/* CONV_2D with windows of any size, one output row at a time, in blocks of two channels and two pixels: the sums of some pairs of
 * channels are kept while a piece of both windows after another is widened and multiplied.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its last pairs of channels are written, whose sums are kept together.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. 16 bytes for each pair of channels whose sums are kept, and 4 for each element of a piece. */
void kibi_conv2d_s8_pieces(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_pieces_params *params,
                           void *scratch);

typedef struct {
    /* [pairs of channels][groups of four elements of a window][4][2]: both channels' weights side by side; zeros
     * follow a window's last element, and fill the channel after an odd last one */
    const int8_t *filter;
    /* [pairs of channels][words for a bit for each group, from the highest one on]: 1 where a group's sums of four
     * products may not fit 16 bits; those of its first two and of its last two products do */
    const int32_t *breaks;
    /* [whole pairs of channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    const int8_t *padding;     /* [input_channels], the input's zero point */
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width;
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min;
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;            /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;          /* across */
    int16_t pad;               /* columns of padding before the first input column */
    int16_t pixels;            /* of a block: at most 6 */
    /* of a window that are multiplied at once: all; or some, where the number of input channels is a multiple of
     * four: then sums are kept */
    int16_t taps;
} kibi_conv2d_s8_halves_params;

/* CONV_2D with two pixels in the halves of a word: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. A word for each two pixels of a block and each element of the taps that are multiplied at once, in whole
 * groups of four; before them, where these are not all taps, a word for each pixel of a block, in whole pairs, and each channel, in
 * whole pairs. */
void kibi_conv2d_s8_halves(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_halves_params *params, void *scratch);

typedef struct {
    /* [output_channels][weight_step]; zeros follow a window's weights, and are those of channels up to four, where
     * there are fewer */
    const int8_t *filter;
    /* [fours of channels][9]: the biases of channels 0, 2, 1 and 3, which include -input_zero_point * the sum of the
     * channel's filter; four multipliers, 0 ... 2**31 - 1; four shifts, a byte each, the lowest one first, to the
     * right by 1 ... 31. Where the number of channels is not a multiple of four, the last four have some of those
     * before them, too. No sum overflows. For blocks of four pixels [output_channels][2]: addends and factors of
     * kibi_four_pixels_s8.h */
    const int32_t *scales;
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width;
    int16_t output_channels;
    int16_t output_zero_point;
    int16_t activation_min;
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;        /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;      /* across */
    int16_t pad;           /* columns of padding before the first input column */
    int16_t input_zero_point;
    /* of a block: at most 3, and 1 where there are fewer than four channels; 4 where outputs are rounded once: then
     * the zero point is -128, outputs are cut to int8, weight_step is 16, and the number of channels is a multiple
     * of four */
    int16_t pixels;
    /* 1: windows are copied to scratch; 0: they are pieces of a row, inside the input, and are read there */
    int16_t gathers;
    /* whose windows are copied at once; 1 where they are not, and where the number of channels is no multiple of
     * four */
    int16_t blocks;
    /* from a channel's weights to the next one's: the elements of a window, or 16, where they are fewer, and rows
     * are whole blocks of three pixels */
    int16_t weight_step;
} kibi_conv2d_s8_vectors_params;

/* CONV_2D, or FULLY_CONNECTED as one, four channels and up to four pixels at a time: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written, or, where they are not copied, before its last four are.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds input_zero_point.
 * scratch: the windows of a block, where they are copied. */
void kibi_conv2d_s8_vectors(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_vectors_params *params, void *scratch);

typedef struct {
    /* [output_channels / 4][kernel_rows][kernel_width][input_channels][4]; zeros are the weights of channels after
     * the last one */
    const float *filter;
    const float *bias;   /* [output_channels, and zeros up to a multiple of 4] */
    int16_t input_width;
    int16_t input_channels;
    int16_t output_width;
    int16_t output_channels;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;      /* across; the pointers to rows account for the stride and the dilation of rows */
    int16_t pad;         /* columns of padding before the first input column, fewer than kernel_width */
    float activation_min;
    float activation_max;
} kibi_conv2d_f32_vectors_params;

/* CONV_2D of floats, or FULLY_CONNECTED as one, four channels of one or three pixels at a time: one output row.
 * output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its last four channels are written, or as many as are left after whole fours.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input.
 * scratch: none. */
void kibi_conv2d_f32_vectors(float *output, const float *const *rows, const kibi_conv2d_f32_vectors_params *params, void *scratch);

#endif
