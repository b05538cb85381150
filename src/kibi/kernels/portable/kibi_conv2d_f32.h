/* CONV_2D of floats: one output row. */
#ifndef KIBI_CONV2D_F32_H
#define KIBI_CONV2D_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* output: [output_width][output_channels]; may overlap an input row where no element is written over one that is still
 * read: elements are written in order, and a pixel's window is read until its last channel is computed.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input.
 * Products are added row by row, column by column, channel by channel; the bias comes last.
 * scratch: none. */
void kibi_conv2d_f32(float *output, const float *const *rows, const kibi_conv2d_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
