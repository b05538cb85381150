/* Outputs of one to three pixels of a convolution: products of int8, added up, and scaled four channels at a time. */
#ifndef KIBI_VECTOR_PIXELS_S8_H
#define KIBI_VECTOR_PIXELS_S8_H

#include "kibi.h"

/* What is computed; kernels in assembly know where each field is. */
typedef struct {
    const int8_t *windows[3];  /* the elements of each pixel, one after another */
    int8_t *output;            /* of the first pixel: of its first channel */
    int32_t step;              /* from an output to that of the next pixel */
    const int8_t *weights;     /* [channels, but at least four][weight_step] */
    const int32_t *scales;     /* [fours of channels][9]: biases of channels 0, 2, 1 and 3, multipliers, and shifts, a byte each */
    int32_t elements;          /* of a window, at least 1 */
    int32_t excess;            /* elements up to the next multiple of 16 */
    int32_t channels;          /* a multiple of four, or, of single pixels, 1 … 3; changes */
    int32_t zero_point;        /* of the output */
    int32_t is_above;          /* 1: the lower bound is the zero point, or above it */
    int32_t low[4];            /* the bounds of outputs, each four times */
    int32_t high[4];
    int32_t all_channels;      /* at first the same as `channels` */
    int32_t blocks;            /* of so many pixels each; changes */
    int32_t advance;           /* to the windows of the next block, from those of the last */
    int32_t output_advance;    /* from the end of the first pixel to the next block; it and `advance` count where there are several */
    int32_t weight_step;       /* elements, or 16: windows are one vector, and zeros follow their weights; then no block is shorter
                                * than three pixels where it is not the number of elements, too */
} kibi_vector_pixels;

/* Computes all channels of blocks of so many pixels. Windows and output change, too. Shifts are to the right by 1 … 31; no sum overflows. */
void kibi_vector_pixels_s8(kibi_vector_pixels *task, int32_t pixels);

#endif
