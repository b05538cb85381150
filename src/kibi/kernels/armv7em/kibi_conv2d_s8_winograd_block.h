/* Pairs of channels of two to four tiles of a convolution by Winograd's F(2,3). */
#ifndef KIBI_CONV2D_S8_WINOGRAD_BLOCK_H
#define KIBI_CONV2D_S8_WINOGRAD_BLOCK_H

#include "kibi_conv2d_s8_three_wide.h"

/* A block and the channels to compute of it; the kernel, in assembly, knows where each field is. Each tile is two
 * neighbouring pixels. What is no pixel of the row is written first where a pixel is written later. */
typedef struct {
    int8_t *output;         /* of the first pixel */
    int32_t second;         /* bytes from there to the second pixel's */
    int32_t fourth;         /* to that of the second tile's second pixel, or of its first, where it has but one */
    int32_t sixth;          /* to that of the third tile's second pixel, likewise; of two tiles, the fourth's again */
    int32_t eighth;         /* to that of the fourth tile's second pixel, likewise; of fewer tiles, the sixth's again */
    int32_t fifth;          /* to that of the third tile's first pixel; of two tiles, the third pixel's */
    int32_t seventh;        /* to that of the fourth tile's first pixel; of fewer tiles, the fifth's again */
    const int8_t *end;      /* where the first pixel's last channel ends: at least one pair of channels */
    const int16_t *columns; /* planes of kibi_winograd_columns_s8, or of kibi_winograd_four_tiles_s8 */
    int32_t plane_bytes;
    int32_t rounding;       /* twice the output's zero point, plus 1 */
    const int32_t *stream;  /* as in kibi_conv2d_s8_winograd_params */
    int32_t groups;         /* of four input channels, of all kernel rows */
    int32_t tiles;
    int32_t clamps;         /* 0: the activation's range is that of int8 */
    uint32_t low;           /* the activation's range, in each byte */
    uint32_t high;
} kibi_conv2d_s8_winograd_task;

/* Computes pairs of channels; returns where in the stream the next one begins. */
const int32_t *kibi_conv2d_s8_winograd_block(const kibi_conv2d_s8_winograd_task *task);

#endif
