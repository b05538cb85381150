/* CONV_2D: one output row. */
#ifndef KIBI_CONV2D_S8_H
#define KIBI_CONV2D_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int8_t *filter;      /* [output_channels][kernel_rows][kernel_width][input_channels / groups] */
    /* [output_channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    /* the input's zero point, once for each element of the most neighbouring columns of a window that are outside
     * the input */
    const int8_t *padding;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t groups;            /* divides both channel counts */
    /* 1: the kernel copies windows into scratch, two at a time; 0: it reads them in place */
    int32_t uses_im2col;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_params;

/* output: [output_width][output_channels]; may overlap an input row where no pixel is written over elements that are still
 * read: pixels are written in order, and a pixel's window is read before its first channel is written where it gathers (both
 * of a pair's), else until its last channel is.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: where it gathers, kernel_rows * kernel_width * input_channels / groups bytes for each of two pixels, or for the
 * only one, any alignment; else none. */
void kibi_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
