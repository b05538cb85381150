/* DEPTHWISE_CONV_2D with multiplier 1, float: one output row, sixteen channels side by side. */
#ifndef KIBI_DEPTHWISE_CONV2D_F32_LANES_H
#define KIBI_DEPTHWISE_CONV2D_F32_LANES_H

#include "kibi.h"

/* Arrays continue with zeros after the last channel, up to a multiple of 16.
 * kernel_rows * ((kernel_width - 1) * dilation + 1) * channels is at most 16384. */
typedef struct {
    int32_t input_width;
    int32_t output_width;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;      /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;    /* across */
    int32_t pad;         /* columns of padding before the first input column */
    float activation_min;
    float activation_max;
    const float *bias;   /* [channels] */
    const float *filter; /* [channels / 16][kernel_rows][kernel_width][16], all finite */
    int32_t channels;
} kibi_depthwise_conv2d_f32_lanes_params;

/* output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * elements are written in order, and the windows of those that are written next are read before.
 * rows: kernel_rows pointers to [input_width][channels]; null for a row outside the input.
 * scratch: none; columns are copied to the stack, 64 kB. */
void kibi_depthwise_conv2d_f32_lanes(float *output, const float *const *rows,
                                     const kibi_depthwise_conv2d_f32_lanes_params *params, void *scratch);

#endif
