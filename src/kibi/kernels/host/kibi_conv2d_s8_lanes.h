/* CONV_2D, and FULLY_CONNECTED as one: one output row, sixteen channels side by side. */
#ifndef KIBI_CONV2D_S8_LANES_H
#define KIBI_CONV2D_S8_LANES_H

#include "kibi.h"

/* A run is what follows in a row of a window without a gap: the row where dilation is 1, else one column. After the last channel,
 * and after the last element of a run, packed arrays continue with zeros: up to a multiple of 16 and of 4.
 * kernel_rows * ((kernel_width - 1) * dilation + 1) * input_channels is at most 32768. */
typedef struct {
    int32_t input_width;
    int32_t output_width;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride and the dilation of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
    int32_t input_zero_point;  /* -128 ... 127 */
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* [channels], which includes -(input_zero_point + 128) * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [channels], 0 ... 2**31 - 1 */
    const int32_t *left;       /* [channels], 0 ... 30: the sum is shifted to the left */
    /* [channels], 0 ... 31: the product with the multiplier is shifted to the right, and rounded */
    const int32_t *right;
    /* [channels], 0 ... 1: added to the exact product of a sum and multiplier * 2**(-31 - right), away from zero, it
     * leaves the output and a fraction; or 0 for all channels of a block: then both roundings are needed */
    const float *half;
    const int8_t *filter;      /* [channels / 16][runs][elements of a run / 4][16][4] */
    int32_t input_channels;
    int32_t output_channels;
} kibi_conv2d_s8_lanes_params;

/* output: [output_width][output_channels]; may overlap an input row where no pixel is written over elements that are still
 * read: pixels are written in order, some at a time, and the windows of those are read before.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: none; columns are copied to the stack, 32 kB. */
void kibi_conv2d_s8_lanes(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_lanes_params *params,
                          void *scratch);

#endif
