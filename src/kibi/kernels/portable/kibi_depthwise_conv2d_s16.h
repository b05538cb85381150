/* DEPTHWISE_CONV_2D of 16-bit elements and 8-bit weights: one output row. */
#ifndef KIBI_DEPTHWISE_CONV2D_S16_H
#define KIBI_DEPTHWISE_CONV2D_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* output: [output_width][input_channels * depth_multiplier]; may overlap an input row where no element is written over one
 * that is still read: elements are written in order, and a channel of a window is read right before each of its outputs.
 * rows: kernel_rows pointers to [input_width][input_channels]; null for a row outside the input. Zero points are 0.
 * scratch: none. */
void kibi_depthwise_conv2d_s16(int16_t *output, const int16_t *const *rows,
                               const kibi_depthwise_conv2d_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
