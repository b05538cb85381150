/* CONV_2D with a window of three by three on one input channel: one output row, channel after channel of each pixel. */
#ifndef KIBI_CONV2D_S8_3X3X1_H
#define KIBI_CONV2D_S8_3X3X1_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* [output_channels][8]: a bias, which includes -input_zero_point * the sum of the channel's filter; five words
     * with the nine weights, row after row, in pairs, the first of a pair in the lower half; the doubled multiplier
     * minus 2**32, where the multiplier is 2**30 ... 2**31 - 1; ~shift, where the shift is to the right by at least
     * 1 */
    const int32_t *channels;
    int32_t input_width;
    int32_t input_zero_point;  /* -128 ... 127 */
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point; /* -128 ... 127 */
    int32_t activation_min;    /* -128 ... 127 */
    int32_t activation_max;    /* -128 ... 127 */
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_3x3x1_params;

/* output: [output_width][output_channels]; may overlap an input row where no pixel is written over one that is still read: a
 * pixel's window is read before its first channel is written.
 * rows: 3 pointers to [input_width]; a row outside the input holds input_zero_point.
 * scratch: none. */
void kibi_conv2d_s8_3x3x1(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_3x3x1_params *params,
                          void *scratch);

#ifdef __cplusplus
}
#endif

#endif
