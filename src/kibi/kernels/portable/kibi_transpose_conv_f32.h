/* TRANSPOSE_CONV of floats: the output rows of one step. */
#ifndef KIBI_TRANSPOSE_CONV_F32_H
#define KIBI_TRANSPOSE_CONV_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* output: [rows_made][output_width][output_channels]; may overlap an input row where no element is written over one that is
 * still read: elements are written in order, and the pixels that an output pixel meets are read until its last channel.
 * rows: row_count pointers to [input_width][input_channels], or, where pointer_step is 1, input_width pointers to
 * [input_channels]; null for a row outside the input.
 * Products are added row by row, column by column, channel by channel; the bias comes last.
 * scratch: none. */
void kibi_transpose_conv_f32(float *output, const float *const *rows, const kibi_transpose_conv_f32_params *params,
                             void *scratch);

#ifdef __cplusplus
}
#endif

#endif
