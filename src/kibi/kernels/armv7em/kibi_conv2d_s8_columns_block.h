/* Pairs of channels of two to four pixels of a convolution whose windows, three wide, share columns. */
#ifndef KIBI_CONV2D_S8_COLUMNS_BLOCK_H
#define KIBI_CONV2D_S8_COLUMNS_BLOCK_H

#include "kibi_conv2d_s8_three_wide.h"

/* A part that a library leaves out where no layer needs it: blocks of four pixels. */
#ifndef KIBI_CONV2D_COLUMNS_OF_4
#define KIBI_CONV2D_COLUMNS_OF_4 1
#endif

/* What is to be done, added up. */
enum {
    KIBI_PASS_FROM_SUMS = 1, /* start from sums of earlier rows, not from biases */
    KIBI_PASS_TO_SUMS = 2,   /* keep sums for later rows, instead of scaling them */
    KIBI_PASS_CLAMPS = 4,    /* the activation's range is not that of int8 */
    KIBI_PASS_THREE = 8,     /* three pixels */
    KIBI_PASS_FOUR = 16      /* four pixels; then no sums are kept */
};

/* A block and the channels to compute of it; the kernel, in assembly, knows where each field is. */
typedef struct {
    int8_t *output;         /* of the first pixel */
    int32_t second;         /* bytes from there to the second pixel's */
    int32_t third;          /* and to the third's; of two pixels, the second's again */
    int32_t fourth;         /* and to the fourth's; of fewer pixels, the third's again */
    const int8_t *end;      /* where the first pixel's last channel ends: at least one pair of channels */
    const int16_t *columns; /* [groups][columns][4], as kibi_widen5_columns_s8 makes them; of four pixels as kibi_widen6_columns_s8 does */
    const int16_t *columns_end;
    int32_t rounding;       /* twice the output's zero point, plus 1 */
    int32_t *sums;          /* [pairs][6], of both channels of each pixel in turn */
    const int32_t *stream;  /* as in kibi_conv2d_s8_columns_params */
    int32_t groups;
    int32_t flags;
    uint32_t low;           /* the activation's range, in each byte */
    uint32_t high;
} kibi_conv2d_s8_columns_task;

/* Computes pairs of channels; returns where in the stream the next one begins. */
const int32_t *kibi_conv2d_s8_columns_block(const kibi_conv2d_s8_columns_task *task);

#endif
