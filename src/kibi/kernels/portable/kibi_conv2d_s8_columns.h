/* CONV_2D with a kernel three columns wide, one output row at a time: the pixels of a block share the columns they read. */
#ifndef KIBI_CONV2D_S8_COLUMNS_H
#define KIBI_CONV2D_S8_COLUMNS_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* what the kernel reads, in order: for each pass over the kernel's rows and the input's channels, and in it for
     * each pair of output channels: in the first pass the numbers from which both sums start; the weights of the
     * pass, as [rows_at_once][groups of four of channels_at_once][3][2] words of four weights in halves, in the
     * order in which kibi_halves_s8.h adds them up; in the last pass ~shift of both in the two lowest bytes, and
     * both multipliers. Everything is 0 for the channel after an odd last one. A sum starts from 256 times the bias,
     * which includes -input_zero_point * the sum of the channel's filter, minus 127 times the sum of the channel's
     * second weights. Shifts are to the right by at least 1, and no true sum reaches 2**23 in magnitude */
    const int32_t *stream;
    const int8_t *padding;    /* the input's zero point, once for each input channel */
    int32_t input_width;
    int32_t input_channels;   /* a multiple of 4 */
    int32_t output_width;     /* at least 2 */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;   /* -128 ... 127 */
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t rows_at_once;     /* kernel rows in one pass: all, or 1 */
    int32_t channels_at_once; /* input channels in one pass: all, or, of one row, a multiple of 4 that divides them */
    int32_t pad;              /* columns of padding before the first input column */
    /* 3: blocks of three pixels, and of two where one or two times two are left; 2: blocks of two, where the
     * output's width is even */
    int32_t pixels;
} kibi_conv2d_s8_columns_params;

/* output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. Two columns more than a block has pixels, of what is in a pass, with 16 bits for each element; and
 * where there are several passes 6 words for each pair of channels. */
void kibi_conv2d_s8_columns(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_columns_params *params,
                            void *scratch);

#ifdef __cplusplus
}
#endif

#endif
