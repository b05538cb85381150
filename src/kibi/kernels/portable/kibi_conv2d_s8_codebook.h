/* CONV_2D with a filter of indices into tables: one output row. */
#ifndef KIBI_CONV2D_S8_CODEBOOK_H
#define KIBI_CONV2D_S8_CODEBOOK_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* of [output_channels][kernel_rows][kernel_width][input_channels] values, packed as kibi_codebook_s8.h says */
    const int8_t *indices;
    const int8_t *tables;      /* the values of each channel, or those that all channels share */
    /* [output_channels], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    /* the input's zero point, once for each element of the most neighbouring columns of a window that are outside
     * the input */
    const int8_t *padding;
    int32_t bits;              /* bits of an index, 1 ... 7 */
    int32_t values;            /* values from one channel's table to the next; 0: all channels share one table */
    int32_t at_once;           /* output channels whose filters are decoded together */
    int32_t input_width;
    int32_t input_channels;
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* 1: the kernel copies windows into scratch, two at a time; 0: it reads them in place */
    int32_t uses_im2col;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;            /* across; the pointers to rows account for the stride of rows */
    int32_t dilation;          /* across */
    int32_t pad;               /* columns of padding before the first input column */
} kibi_conv2d_s8_codebook_params;

/* output: [output_width][output_channels]; where all channels are decoded at once it may overlap an input row, else none.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: for each of the channels that are decoded at once kernel_rows * kernel_width * input_channels + output_width bytes;
 * where it gathers, the former once more for each of two pixels, or for the only one. Any alignment. */
void kibi_conv2d_s8_codebook(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_codebook_params *params,
                            void *scratch);

#ifdef __cplusplus
}
#endif

#endif
