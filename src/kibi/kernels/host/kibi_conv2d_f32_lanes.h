/* CONV_2D, and FULLY_CONNECTED as one, float: one output row, sixteen channels side by side. */
#ifndef KIBI_CONV2D_F32_LANES_H
#define KIBI_CONV2D_F32_LANES_H

#include "kibi.h"

/* Arrays continue with zeros after the last channel, up to a multiple of 16.
 * kernel_rows * ((kernel_width - 1) * dilation + 1) * input_channels is at most 16384. */
typedef struct {
    int32_t input_width;
    int32_t output_width;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;        /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;      /* across */
    int32_t pad;           /* columns of padding before the first input column */
    float activation_min;
    float activation_max;
    const float *bias;     /* [channels] */
    const float *filter;   /* [channels / 16][kernel_rows][kernel_width][input_channels][16], all finite */
    const int32_t *order;  /* [output_channels]: the output's channel of each packed one; null where each is its own */
    const float *quiet;    /* [output_channels]: what quiet channels are where the input is small; null without any */
    int32_t input_channels;
    int32_t output_channels;
    int32_t loud_channels; /* packed channels before those that are quiet, a multiple of 16; 0 where none is quiet */
    float limit;           /* of the input's elements in magnitude, up to which quiet ones are constants */
} kibi_conv2d_f32_lanes_params;

/* output: [output_width][output_channels]; may overlap an input row where no pixel is written over elements that are still
 * read: pixels are written in order, some at a time, and the windows of those are read before.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input.
 * scratch: [output_width][output_channels] where some channels are quiet, else none; columns are copied to the stack, 64 kB. */
void kibi_conv2d_f32_lanes(float *output, const float *const *rows, const kibi_conv2d_f32_lanes_params *params,
                           void *scratch);

#endif
