/* DEPTHWISE_CONV_2D: each kernel computes one output row. */
#ifndef KIBI_DEPTHWISE_CONV2D_H
#define KIBI_DEPTHWISE_CONV2D_H

#include "kibi.h"

typedef struct {
    const float *filter;      /* [kernel_rows][kernel_width][input_channels * depth_multiplier] */
    const float *bias;        /* [input_channels * depth_multiplier] */
    int32_t input_width;
    int32_t input_channels;
    int32_t depth_multiplier; /* output channels that read an input channel */
    int32_t output_width;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;           /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;         /* across */
    int32_t pad;              /* columns of padding before the first input column */
    float activation_min;
    float activation_max;
} kibi_depthwise_conv2d_f32_params;

/* DEPTHWISE_CONV_2D of floats: one output row.
 * output: [output_width][input_channels * depth_multiplier]; may overlap an input row where no element is written over one that is
 * still read: elements are written in order, and an input channel is read until its last output channel is computed.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input.
 * Products are added row by row and column by column; the bias comes last.
 * scratch: none. */
void kibi_depthwise_conv2d_f32(float *output, const float *const *rows, const kibi_depthwise_conv2d_f32_params *params,
                               void *scratch);

typedef struct {
    const int8_t *filter;      /* [kernel_rows][kernel_width][input_channels * depth_multiplier] */
    const int64_t *bias;       /* [input_channels * depth_multiplier], below 2**46 in magnitude */
    const int32_t *multiplier; /* [input_channels * depth_multiplier], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [input_channels * depth_multiplier], -31 ... 7 where is_wide, else -31 ... 30 */
    /* 1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice */
    int32_t is_wide;
    int32_t input_width;
    int32_t input_channels;
    int32_t depth_multiplier;  /* output channels that read an input channel */
    int32_t output_width;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
    int32_t activation_min;
    int32_t activation_max;
} kibi_depthwise_conv2d_s16_params;

/* DEPTHWISE_CONV_2D of 16-bit elements and 8-bit weights: one output row.
 * output: [output_width][input_channels * depth_multiplier]; may overlap an input row where no element is written over one
 * that is still read: elements are written in order, and a channel of a window is read right before each of its outputs.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input. Zero points are 0.
 * scratch: none. */
void kibi_depthwise_conv2d_s16(int16_t *output, const int16_t *const *rows,
                               const kibi_depthwise_conv2d_s16_params *params, void *scratch);

typedef struct {
    /* [blocks of four channels][words]; the header of the kernel describes a block. Where the number of channels is
     * not a multiple of four, the last block has the last four, some of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;      /* of the input, at least 4 */
    int16_t output_width;
    int16_t activation_min;
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;        /* across; the pointers to rows account for the stride and the dilation of rows */
    int16_t dilation;      /* across */
    int16_t pad;           /* columns of padding before the first input column */
} kibi_depthwise_conv2d_s16_blocks_params;

/* DEPTHWISE_CONV_2D of 16-bit elements and 8-bit weights with multiplier 1 and any window: one output row, four channels at a time.
 * A block: four biases; kernel_rows * kernel_width words, row after row, each with a weight of each channel, the first one's in the lowest
 * byte; four factors, as in kibi_conv2d_s16_blocks_params. All sums fit 32 bits.
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read: the elements of
 * four channels of a window are read right before these are written, of the last four once more after some of them were.
 * rows: kernel_rows pointers to [input_width][channels]; null for a row outside the input. Zero points are 0.
 * scratch: none. */
void kibi_depthwise_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows,
                                      const kibi_depthwise_conv2d_s16_blocks_params *params, void *scratch);

typedef struct {
    const int8_t *filter;      /* [kernel_rows][kernel_width][channels] */
    const int32_t *bias;       /* [channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *multiplier; /* [channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [channels], -31 ... 30 */
    int32_t input_width;
    int32_t channels;          /* of the input */
    int32_t input_zero_point;  /* -128 ... 127 */
    int32_t output_width;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_depthwise_conv2d_s8_params;

/* DEPTHWISE_CONV_2D with multiplier 1: one output row.
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * elements are written in order, and a channel of a window is read right before it is written.
 * rows: kernel_rows pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_depthwise_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params,
                              void *scratch);

typedef struct {
    /* [blocks of four channels][26]; the header of the kernel describes a block. Where the number of channels is not
     * a multiple of four, the last block has the last four, some of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;          /* of the input, at least 4 */
    int16_t input_zero_point;  /* -128 ... 127 */
    int16_t output_width;
    int16_t output_zero_point; /* -128 ... 127 */
    int16_t activation_min;    /* -128 ... 127 */
    int16_t activation_max;    /* -128 ... 127 */
    int16_t stride;            /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;          /* across */
    /* columns of padding before the first input column; the middle of every window is inside the input */
    int16_t pad;
} kibi_depthwise_conv2d_s8_3x3_params;

/* DEPTHWISE_CONV_2D with multiplier 1 and a window of three by three: one output row, four channels at a time.
 * A block: four numbers from which sums start, each 256 times a bias, with -input_zero_point * sum of the channel's filter in it,
 * plus ~shift, all shifts being to the right by at least 1; then 256 times the weights, in pairs, each a word for each channel
 * with the first of them in the lower half: the first two rows of the window's left column; the third row of the left and the
 * middle column; the first two rows of the middle column; the first two rows of the right one; then those of the third row of
 * the right column, for channels 0 and 2, and for 1 and 3; four multipliers, 0 … 2**31 - 1. No true sum reaches 2**23 in
 * magnitude.
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * four channels are written in order, and of a window they are read right before.
 * rows: 3 pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_depthwise_conv2d_s8_3x3(int8_t *output, const int8_t *const *rows,
                                  const kibi_depthwise_conv2d_s8_3x3_params *params, void *scratch);

/* DEPTHWISE_CONV_2D with multiplier 1, a window of three by three and an activation that cuts off what is below the output's
 * zero point: one output row, four channels at a time.
 * A block: four numbers from which sums start, each 256 times a bias, with -input_zero_point * sum of the channel's filter in it,
 * plus an addend; then 256 times the weights, in pairs, each a word for each channel
 * with the first of them in the lower half: the first two rows of the window's left column; the third row of the left and the
 * middle column; the first two rows of the middle column; the first two rows of the right one; then those of the third row of
 * the right column, for channels 0 and 2, and for 1 and 3; four factors, 0 … 2**31 - 1. Addends and factors are those that
 * kibi_round_once wants, with a fraction of KIBI_DEPTHWISE_FRACTION_BITS.
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * four channels are written in order, and of a window they are read right before.
 * rows: 3 pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_depthwise_conv2d_s8_3x3_relu(int8_t *output, const int8_t *const *rows,
                                       const kibi_depthwise_conv2d_s8_3x3_params *params, void *scratch);

typedef struct {
    /* [blocks of four channels][words]; the header of the kernel describes a block. Where the number of channels is
     * not a multiple of four, the last block has the last four, some of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;          /* of the input, at least 4 */
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

/* DEPTHWISE_CONV_2D with multiplier 1 and any window: one output row, four channels at a time.
 * A block: four numbers from which sums start, each 256 times a bias, with -input_zero_point * sum of the channel's filter in it,
 * plus ~shift, all shifts being to the right by at least 1; for each column of the window, left to right, and each two rows of
 * it, 256 times the weights of the first and, in the upper half of the same word, of the second, for each channel; after them,
 * for an odd last row, its weights for channels 0 and 2, and for 1 and 3, 256-fold, too; four multipliers, 0 … 2**31 - 1. No
 * true sum reaches 2**23 in magnitude.
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * four channels are written in order, and of a window they are read right before.
 * rows: kernel_rows pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_depthwise_conv2d_s8_columns(int8_t *output, const int8_t *const *rows,
                                      const kibi_depthwise_conv2d_s8_columns_params *params, void *scratch);

typedef struct {
    const int8_t *filter;      /* [depth_multiplier][kernel_rows][kernel_width][channels] */
    /* [depth_multiplier][channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [depth_multiplier][channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [depth_multiplier][channels], -31 ... 30 */
    int32_t input_width;
    int32_t channels;          /* of the input */
    int32_t input_zero_point;  /* -128 ... 127 */
    int32_t output_width;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
    int32_t depth_multiplier;  /* output channels that read an input channel */
    int32_t pixels;            /* neighbouring pixels that are computed at once */
} kibi_depthwise_conv2d_s8_multiplied_params;

/* DEPTHWISE_CONV_2D with a multiplier above 1: one output row, by the kernel for multiplier 1. Output channel c * depth_multiplier + m
 * reads input channel c.
 * output: [output_width][channels * depth_multiplier]; may overlap an input row where the windows of pixels that are
 * computed at once, and of those after them, are not written over before these are.
 * rows: kernel_rows pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: [pixels][channels]. */
void kibi_depthwise_conv2d_s8_multiplied(int8_t *output, const int8_t *const *rows,
                                         const kibi_depthwise_conv2d_s8_multiplied_params *params, void *scratch);

typedef struct {
    /* [depth_multiplier][blocks of four input channels][26]; the header of the kernel for multiplier 1 describes a
     * block. Where the number of input channels is not a multiple of four, the last block has the last four, some of
     * which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;          /* of the input, at least 4 */
    int16_t input_zero_point;  /* -128 ... 127 */
    int16_t output_width;
    int16_t output_zero_point; /* -128 ... 127 */
    int16_t activation_min;    /* -128 ... 127 */
    int16_t activation_max;    /* -128 ... 127 */
    int16_t stride;            /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;          /* across */
    /* columns of padding before the first input column; the middle of every window is inside the input */
    int16_t pad;
    int16_t depth_multiplier;  /* output channels that read an input channel */
    int16_t pixels;            /* neighbouring pixels that are computed at once */
} kibi_depthwise_conv2d_s8_3x3_multiplied_params;

/* The same with a window of three by three, four input channels at a time.
 * output: [output_width][channels * depth_multiplier]; may overlap an input row where the windows of pixels that are
 * computed at once, and of those after them, are not written over before these are.
 * rows: 3 pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: [pixels][channels]. */
void kibi_depthwise_conv2d_s8_3x3_multiplied(int8_t *output, const int8_t *const *rows,
                                             const kibi_depthwise_conv2d_s8_3x3_multiplied_params *params, void *scratch);

typedef struct {
    /* [depth_multiplier][blocks of four input channels][words]; the header of the kernel for multiplier 1 describes
     * a block. Where the number of input channels is not a multiple of four, the last block has the last four, some
     * of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;          /* of the input, at least 4 */
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
    int16_t depth_multiplier;  /* output channels that read an input channel */
    int16_t pixels;            /* neighbouring pixels that are computed at once */
} kibi_depthwise_conv2d_s8_columns_multiplied_params;

/* The same with any window, four input channels at a time.
 * output: [output_width][channels * depth_multiplier]; may overlap an input row where the windows of pixels that are
 * computed at once, and of those after them, are not written over before these are.
 * rows: kernel_rows pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: [pixels][channels]. */
void kibi_depthwise_conv2d_s8_columns_multiplied(int8_t *output, const int8_t *const *rows,
                                                 const kibi_depthwise_conv2d_s8_columns_multiplied_params *params,
                                                 void *scratch);

typedef struct {
    /* [blocks of four channels][26]; the header of the kernel describes a block. Where the number of channels is not
     * a multiple of four, the last block has the last four, some of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;              /* of the input, at least 4 */
    int16_t input_zero_point;      /* -128 ... 127 */
    int16_t output_width;
    int16_t output_zero_point;     /* -128 ... 127 */
    int16_t activation_min;        /* -128 ... 127 */
    int16_t activation_max;        /* -128 ... 127 */
    int16_t stride;                /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;              /* across */
    /* columns of padding before the first input column; the middle of every window is inside the input */
    int16_t pad;
    int16_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][3][3] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_depthwise_conv2d_s8_3x3_odd_params;

/* What kibi_depthwise_conv2d_s8_3x3 computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_depthwise_conv2d_s8_3x3.
 * scratch: aligned as words. odd_count * output_width bytes, rounded up to whole words; then that of kibi_depthwise_conv2d_s8_3x3. */
void kibi_depthwise_conv2d_s8_3x3_odd(int8_t *output, const int8_t *const *rows,
                                      const kibi_depthwise_conv2d_s8_3x3_odd_params *params, void *scratch);
/* The same by kibi_depthwise_conv2d_s8_3x3_relu. */
void kibi_depthwise_conv2d_s8_3x3_relu_odd(int8_t *output, const int8_t *const *rows,
                                           const kibi_depthwise_conv2d_s8_3x3_odd_params *params, void *scratch);

typedef struct {
    /* [blocks of four channels][words]; the header of the kernel describes a block. Where the number of channels is
     * not a multiple of four, the last block has the last four, some of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;              /* of the input, at least 4 */
    int16_t input_zero_point;      /* -128 ... 127 */
    int16_t output_width;
    int16_t output_zero_point;     /* -128 ... 127 */
    int16_t activation_min;        /* -128 ... 127 */
    int16_t activation_max;        /* -128 ... 127 */
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;                /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;              /* across */
    int16_t pad;                   /* columns of padding before the first input column */
    int16_t odd_count;             /* channels that the fast kernel's other constants do not describe, at least 1 */
    const int8_t *odd_filter;      /* [odd_count][kernel_rows][kernel_width] */
    const int32_t *odd_numbers;    /* [odd_count]: the numbers of the channels */
    /* [odd_count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *odd_bias;
    const int32_t *odd_multiplier; /* [odd_count], 0 ... 2**31 - 1 */
    const int8_t *odd_shift;       /* [odd_count], -31 ... 30 */
} kibi_depthwise_conv2d_s8_columns_odd_params;

/* What kibi_depthwise_conv2d_s8_columns computes, of a layer some of whose channels its constants cannot describe: those are computed
 * one by one before it writes to the row. Output and rows as of kibi_depthwise_conv2d_s8_columns.
 * scratch: aligned as words. odd_count * output_width bytes, rounded up to whole words; then that of kibi_depthwise_conv2d_s8_columns. */
void kibi_depthwise_conv2d_s8_columns_odd(int8_t *output, const int8_t *const *rows,
                                          const kibi_depthwise_conv2d_s8_columns_odd_params *params, void *scratch);

typedef struct {
    /* [blocks of sixteen channels][72, or 68 if outputs are rounded once]: what kibi_vector_taps_s8.h says of a
     * block. Zeros are the constants of channels after the last one; where pixels are computed together, the block
     * has the channels of all. Where the number of channels is no multiple of 4, the last block has the last sixteen
     * channels, or, where there are fewer, the last four */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;          /* of the input, at least 4 */
    int16_t input_zero_point;  /* -128 ... 127 */
    int16_t output_width;
    int16_t output_zero_point; /* -128 ... 127 */
    int16_t activation_min;    /* -128 ... 127 */
    int16_t activation_max;    /* -128 ... 127 */
    int16_t stride;            /* across; the pointers to rows account for the stride of rows */
    int16_t dilation;          /* across */
    int16_t pad;               /* columns of padding before the first input column */
    /* neighbouring pixels whose channels are those of one block: more than 1 only where the stride is 1 */
    int16_t together;
    /* 1: blocks have addends and factors; then the zero point is -128, and outputs are cut to int8 */
    int16_t rounds_once;
} kibi_depthwise_conv2d_s8_vectors_params;

/* DEPTHWISE_CONV_2D with multiplier 1 and a window of three by three: one output row, sixteen channels at a time.
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * sixteen channels are written in order, and of a window they are read right before.
 * rows: 3 pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_depthwise_conv2d_s8_vectors(int8_t *output, const int8_t *const *rows,
                                      const kibi_depthwise_conv2d_s8_vectors_params *params, void *scratch);

typedef struct {
    const float *filter;      /* [depth_multiplier][kernel_rows][kernel_width][input_channels] */
    const float *bias;        /* [depth_multiplier][input_channels] */
    int32_t input_width;
    int32_t input_channels;
    int32_t depth_multiplier; /* output channels that read an input channel */
    int32_t output_width;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;           /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;         /* across */
    int32_t pad;              /* columns of padding before the first input column */
    float activation_min;
    float activation_max;
    int32_t pixels;           /* neighbouring pixels that are computed at once */
} kibi_depthwise_conv2d_f32_multiplied_params;

/* DEPTHWISE_CONV_2D of floats with a multiplier above 1: one output row, by the kernel for multiplier 1. Output channel
 * c * depth_multiplier + m reads input channel c.
 * output: [output_width][input_channels * depth_multiplier]; may overlap an input row where the windows of pixels that are
 * computed at once, and of those after them, are not written over before these are.
 * rows: kernel_rows pointers to [input_width][input_channels]; NULL for a row outside the input.
 * scratch: [pixels][input_channels], aligned to 4. */
void kibi_depthwise_conv2d_f32_multiplied(float *output, const float *const *rows,
                                          const kibi_depthwise_conv2d_f32_multiplied_params *params, void *scratch);

typedef struct {
    /* [depth_multiplier][blocks of four input channels][words]; the header of the kernel for multiplier 1 describes
     * a block. Where the number of input channels is not a multiple of four, the last block has the last four, some
     * of which the block before it has, too */
    const int32_t *blocks;
    int16_t input_width;
    int16_t channels;         /* of the input, at least 4 */
    int16_t output_width;
    int16_t activation_min;
    int16_t activation_max;
    int16_t kernel_rows;
    int16_t kernel_width;
    int16_t stride;           /* across; the pointers to rows account for the stride and the dilation of rows */
    int16_t dilation;         /* across */
    int16_t pad;              /* columns of padding before the first input column */
    int16_t depth_multiplier; /* output channels that read an input channel */
    int16_t pixels;           /* neighbouring pixels that are computed at once */
} kibi_depthwise_conv2d_s16_blocks_multiplied_params;

/* The same of int16 in blocks of four input channels; channels is input_channels, and scratch is aligned to 2. */
void kibi_depthwise_conv2d_s16_blocks_multiplied(int16_t *output, const int16_t *const *rows,
                                                 const kibi_depthwise_conv2d_s16_blocks_multiplied_params *params,
                                                 void *scratch);

#endif
