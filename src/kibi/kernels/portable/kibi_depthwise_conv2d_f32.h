/* DEPTHWISE_CONV_2D of floats: one output row. */
#ifndef KIBI_DEPTHWISE_CONV2D_F32_H
#define KIBI_DEPTHWISE_CONV2D_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* output: [output_width][input_channels * depth_multiplier]; may overlap an input row where no element is written over one that is
 * still read: elements are written in order, and an input channel is read until its last output channel is computed.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input.
 * Products are added row by row and column by column; the bias comes last.
 * scratch: none. */
void kibi_depthwise_conv2d_f32(float *output, const float *const *rows, const kibi_depthwise_conv2d_f32_params *params,
                               void *scratch);

#ifdef __cplusplus
}
#endif

#endif
