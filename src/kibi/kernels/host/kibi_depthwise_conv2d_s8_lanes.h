/* DEPTHWISE_CONV_2D with multiplier 1: one output row, sixteen channels side by side. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_LANES_H
#define KIBI_DEPTHWISE_CONV2D_S8_LANES_H

#include "kibi.h"

/* Arrays continue with zeros after the last channel, up to a multiple of 16, and after the last row, up to a multiple of 4. Where
 * stride is 1 and the channels divide 16, they continue with the same channels: sixteen lanes are those of several pixels.
 * ((kernel_width - 1) * dilation + 1) * 16 * kernel_rows, rounded up to a multiple of 4, is at most 32768. */
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
    const int8_t *filter;      /* [channels / 16][kernel_rows / 4][kernel_width][16][4] */
    int32_t channels;
} kibi_depthwise_conv2d_s8_lanes_params;

/* output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * elements are written in order, and the windows of those that are written next are read before.
 * rows: kernel_rows pointers to [input_width][channels]; a row outside the input holds input_zero_point.
 * scratch: none; columns are copied to the stack, 32 kB. */
void kibi_depthwise_conv2d_s8_lanes(int8_t *output, const int8_t *const *rows,
                                    const kibi_depthwise_conv2d_s8_lanes_params *params, void *scratch);

#endif
