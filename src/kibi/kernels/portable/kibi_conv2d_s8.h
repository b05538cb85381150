/* CONV_2D: one output row. */
#ifndef KIBI_CONV2D_S8_H
#define KIBI_CONV2D_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int8_t *filter;      /* [output_channels][kernel_rows][kernel_width][input_channels / groups] */
    const int32_t *bias;       /* [output_channels], with -input_zero_point * sum of the channel's filter in it */
    const int32_t *multiplier; /* [output_channels], 0 … 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 … 30 */
    int32_t input_width;
    int32_t input_channels;
    int32_t input_zero_point; /* -128 … 127 */
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t groups; /* divides both channel counts */
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;   /* across; the rows' stride is in the pointers */
    int32_t dilation; /* across */
    int32_t pad;      /* in front of the first column */
} kibi_conv2d_s8_params;

/* output: [output_width][output_channels]; does not overlap the input rows.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds input_zero_point.
 * scratch: 2 * kernel_rows * kernel_width * input_channels / groups bytes, any alignment; none for a 1 x 1 kernel with
 * pad 0 and one group. */
void kibi_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
