/* What is left to compute of one pixel or two of a convolution: where inputs, constants and outputs are. */
#ifndef KIBI_CONV2D_S8_WINDOWS_H
#define KIBI_CONV2D_S8_WINDOWS_H

#include "kibi.h"

/* One window or two, in pieces of equal size, and the channels to compute of them; kernels in assembly know where each field
 * is. */
typedef struct {
    const int32_t *multiplier; /* of the next channel, as all that follows of channels; 0 … 2**31 - 1 */
    const int8_t *shift;       /* -31 … 30 */
    int8_t *output;            /* of the first pixel */
    int32_t rounding;          /* twice the output's zero point, plus 1 */
    int32_t output_channels;   /* bytes from there to the second pixel's */
    int32_t clamps;            /* 0: the activation's range is that of int8 */
    const int32_t *bias;
    const int8_t *filter;          /* [channels][size] */
    const int8_t *end;             /* where the first pixel's last channel ends: at least one block of channels */
    int32_t activation_min;        /* -128 … 127 */
    int32_t activation_max;        /* -128 … 127 */
    const int8_t *const *rows;     /* one pointer for each piece */
    const int8_t *const *rows_end; /* after the last of these */
    int32_t offset;                /* elements from such a pointer to a piece of the first window */
    int32_t distance;              /* elements from there to that of the second */
    int32_t groups;                /* elements of a piece in whole groups of four */
    int32_t count;                 /* elements of a piece, at least 1 */
    int32_t size;                  /* of a window: its pieces' elements */
} kibi_conv2d_s8_windows;

#endif
