/* CONV_2D with a kernel three columns wide, one output row at a time: two pixels from four products instead of six, by
 * Winograd's F(2,3) in exact integers. */
#ifndef KIBI_CONV2D_S8_WINOGRAD_H
#define KIBI_CONV2D_S8_WINOGRAD_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* what the kernel reads, in order, for each pair of channels: both biases, doubled; the sums a + b + c, then the
     * differences a - b + c of the kernel's columns a, b, c; 2 * c; the scaling; 2 * a; and the scaling again.
     * Weights are [kernel_rows][groups of four input channels][2][2] words, with the elements 0 and 2 of a group in
     * the halves of the first, 1 and 3 in those of the second. The scaling is ~shift of both channels in the two
     * lowest bytes of a word, and both multipliers. Everything is 0 for the channel after an odd last one. The bias
     * includes -input_zero_point * the sum of the channel's filter. Shifts are to the right by at least 1, and no
     * sum reaches 2**30 in magnitude */
    const int32_t *stream;
    const int8_t *padding;  /* the input's zero point, once for each input channel */
    int32_t input_width;
    int32_t input_channels; /* a multiple of 4 */
    int32_t output_width;   /* at least 3 */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min; /* -128 ... 127 */
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t pad;            /* columns of padding before the first input column */
    /* 3: blocks of three tiles of two pixels, and of two tiles where two or four are left; 2: blocks of two tiles,
     * where the number of tiles is even */
    int32_t tiles;
} kibi_conv2d_s8_winograd_params;

/* output: [output_width][output_channels]; may overlap an input row where no block is written over elements that are still
 * read: a block's windows are read before its first channel is written.
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point.
 * scratch: aligned as words. Four columns for each tile of a block, of each kernel row, with 16 bits for each element. */
void kibi_conv2d_s8_winograd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_winograd_params *params,
                             void *scratch);

#ifdef __cplusplus
}
#endif

#endif
