/* Outputs of four pixels of a convolution whose windows are one vector: products of int8, added up, and rounded once. */
#ifndef KIBI_FOUR_PIXELS_S8_H
#define KIBI_FOUR_PIXELS_S8_H

#include "kibi.h"

/* What is computed; kernels in assembly know where each field is. */
typedef struct {
    const int8_t *windows[4];  /* the elements of each pixel, one after another */
    int8_t *outputs[4];        /* of each pixel: its first channel */
    const int8_t *weights;     /* [channels][16]; zeros follow a window's weights */
    const int32_t *factors;    /* [channels][2]: addend, factor */
    int32_t elements;          /* of a window, 1 … 16 */
    int32_t fours;             /* of channels */
    int32_t blocks;            /* of four pixels each */
    int32_t advance;           /* to the windows of the next block, from those of the last */
    int32_t output_advance;    /* from the end of a pixel to the next block's */
} kibi_four_pixels;

/* Computes all channels of the blocks. Windows change, too. Outputs are (256 * sum + addend) * factor / 2^43, to the nearest, halves up, cut
 * to int8; 256 * sum + addend is computed in 32 bits, and factors are not negative. A block reads its windows before it writes. */
void kibi_four_pixels_s8(kibi_four_pixels *task);

#endif
