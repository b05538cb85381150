/* Four tiles of two by two pixels of a convolution by Winograd's F(2x2, 3x3). */
#ifndef KIBI_ROW_PAIRS_BLOCK_H
#define KIBI_ROW_PAIRS_BLOCK_H

#include "kibi_conv2d_s8_three_wide.h"

/* A block and the channels to compute of it; the kernel, in assembly, knows where each field is. */
typedef struct {
    const int16_t *planes; /* of kibi_row_pairs_tiles_s8 */
    int32_t row;           /* bytes from a pixel to that below it */
    int32_t second;        /* bytes from a pixel to that beside it */
    int32_t third;         /* bytes from a tile's pixel to that of the next tile */
    int32_t seventh;       /* to that of the fourth tile */
    int32_t rounding;      /* twice the output's zero point, plus 1 */
    int8_t *output;        /* of the first tile's upper left pixel */
    const int8_t *end;     /* where its last channel ends: at least one pair of channels */
    const int32_t *stream; /* as in kibi_conv2d_s8_row_pairs_params */
    int32_t groups;        /* of four input channels */
    int32_t clamps;        /* 0: the activation's range is that of int8 */
    uint32_t low;          /* the activation's range, in each byte */
    uint32_t high;
} kibi_row_pairs_task;

/* Computes pairs of channels. */
void kibi_row_pairs_block(const kibi_row_pairs_task *task);

#endif
