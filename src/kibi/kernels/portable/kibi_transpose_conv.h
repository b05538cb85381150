/* TRANSPOSE_CONV: each kernel computes one output row. */
#ifndef KIBI_TRANSPOSE_CONV_H
#define KIBI_TRANSPOSE_CONV_H

#include "kibi.h"

typedef struct {
    const float *filter;  /* [output_channels][kernel_rows][kernel_width][input_channels] */
    const float *bias;    /* [output_channels] */
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t rows_made;    /* output rows that a step makes */
    int32_t row_count;    /* input rows that a step reads */
    int32_t row_offset;   /* row r meets output row j under kernel row j + row_offset - r * stride_rows */
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride_rows;
    int32_t stride;       /* across: column ix meets output column x under kernel column x + pad - ix * stride */
    int32_t pad;          /* columns of the first pixel's window before the output */
    int32_t pointer_step; /* pointers from a column to the next: 0, or 1 where each column has its own */
    int32_t column_step;  /* elements from a column to the next after the same pointer */
    float activation_min;
    float activation_max;
} kibi_transpose_conv_f32_params;

/* TRANSPOSE_CONV of floats: the output rows of one step.
 * output: [rows_made][output_width][output_channels]; may overlap an input row where no element is written over one that is
 * still read: elements are written in order, and the pixels that an output pixel meets are read until its last channel.
 * rows: row_count pointers to [input_width][input_channels], or, where pointer_step is 1, input_width pointers to
 * [input_channels]; null for a row outside the input.
 * Products are added row by row, column by column, channel by channel; the bias comes last.
 * scratch: none. */
void kibi_transpose_conv_f32(float *output, const float *const *rows, const kibi_transpose_conv_f32_params *params,
                             void *scratch);

typedef struct {
    const int8_t *filter;      /* [output_channels][kernel_rows][kernel_width][input_channels] */
    const int64_t *bias;       /* [output_channels], below 2**46 in magnitude */
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 7 */
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t rows_made;         /* output rows that a step makes */
    int32_t row_count;         /* input rows that a step reads */
    int32_t row_offset;        /* row r meets output row j under kernel row j + row_offset - r * stride_rows */
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride_rows;
    int32_t stride;            /* across: column ix meets output column x under kernel column x + pad - ix * stride */
    int32_t pad;               /* columns of the first pixel's window before the output */
    int32_t pointer_step;      /* pointers from a column to the next: 0, or 1 where each column has its own */
    int32_t column_step;       /* elements from a column to the next after the same pointer */
    int32_t activation_min;
    int32_t activation_max;
} kibi_transpose_conv_s16_params;

/* TRANSPOSE_CONV of 16-bit elements and 8-bit weights: the output rows of one step.
 * output: [rows_made][output_width][output_channels]; may overlap an input row where no element is written over one that is
 * still read: elements are written in order, and the pixels that an output pixel meets are read until its last channel.
 * rows: row_count pointers to [input_width][input_channels], or, where pointer_step is 1, input_width pointers to
 * [input_channels]; null for a row outside the input. Zero points are 0.
 * scratch: none. */
void kibi_transpose_conv_s16(int16_t *output, const int16_t *const *rows, const kibi_transpose_conv_s16_params *params,
                             void *scratch);

typedef struct {
    const int8_t *filter;      /* [output_channels][kernel_rows][kernel_width][input_channels] */
    const int32_t *bias;       /* [output_channels] */
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t rows_made;         /* output rows that a step makes */
    int32_t row_count;         /* input rows that a step reads */
    int32_t row_offset;        /* row r meets output row j under kernel row j + row_offset - r * stride_rows */
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride_rows;
    int32_t stride;            /* across: column ix meets output column x under kernel column x + pad - ix * stride */
    int32_t pad;               /* columns of the first pixel's window before the output */
    int32_t pointer_step;      /* pointers from a column to the next: 0, or 1 where each column has its own */
    int32_t column_step;       /* elements from a column to the next after the same pointer */
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_transpose_conv_s8_params;

/* TRANSPOSE_CONV: the output rows of one step.
 * output: [rows_made][output_width][output_channels]; may overlap an input row where no element is written over one that is
 * still read: elements are written in order, and the pixels that an output pixel meets are read until its last channel.
 * rows: row_count pointers to [input_width][input_channels], or, where pointer_step is 1, input_width pointers to
 * [input_channels]; null for a row outside the input.
 * scratch: none. */
void kibi_transpose_conv_s8(int8_t *output, const int8_t *const *rows, const kibi_transpose_conv_s8_params *params,
                            void *scratch);

#endif
