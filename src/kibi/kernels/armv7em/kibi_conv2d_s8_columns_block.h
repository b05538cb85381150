/* Pairs of channels of two to four pixels of a convolution whose windows, three wide, share columns. */
#ifndef KIBI_CONV2D_S8_COLUMNS_BLOCK_H
#define KIBI_CONV2D_S8_COLUMNS_BLOCK_H

#include "kibi_conv2d_s8_three_wide.h"

/* A part that a library leaves out where no layer needs it: blocks of four pixels. */
#ifndef KIBI_CONV2D_COLUMNS_OF_4
#define KIBI_CONV2D_COLUMNS_OF_4 1
#endif
/* Likewise windows two columns from one to the next, of four pixels. */
#ifndef KIBI_CONV2D_COLUMNS_TWO_APART
#define KIBI_CONV2D_COLUMNS_TWO_APART 1
#endif
/* Likewise two blocks of four pixels side by side. */
#ifndef KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE
#define KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE 1
#endif

/* Likewise passes over the windows, with sums that are kept in between. */
#ifndef KIBI_CONV2D_COLUMNS_IN_PASSES
#define KIBI_CONV2D_COLUMNS_IN_PASSES 1
#endif

/* What is to be done, added up. */
enum {
    KIBI_PASS_FROM_SUMS = 1, /* start from sums of earlier rows, not from biases */
    KIBI_PASS_TO_SUMS = 2,   /* keep sums for later rows, instead of scaling them */
    KIBI_PASS_CLAMPS = 4,    /* the activation's range is not that of int8 */
    KIBI_PASS_THREE = 8,     /* three pixels */
    KIBI_PASS_FOUR = 16,     /* four pixels */
    KIBI_PASS_TWO = 32,      /* two blocks of four pixels, one directly after the other */
    KIBI_PASS_TWO_APART = 64 /* four pixels whose windows are two columns from one to the next */
};

/* A block and the channels to compute of it; the kernel, in assembly, knows where each field is. Addresses wrap. */
typedef struct {
    int8_t *output;         /* of the first pixel */
    int32_t distance;       /* bytes from there to the second pixel's, and so on */
    const int8_t *end;      /* where the first pixel's last channel ends: at least one pair of channels */
    uint32_t columns;       /* 8 bytes before [groups][columns][4], as kibi_widen5_columns_s8 makes them; of four pixels as
                               kibi_widen6_columns_s8 does, or, two columns apart, kibi_widen9_columns_s8, first those with an
                               odd number */
    uint32_t columns_end;   /* 8 bytes before they end */
    int32_t zero_point;     /* of the output */
    int32_t *sums;          /* [pairs][6], of both channels of each pixel in turn; of four pixels [pairs][8] */
    const int32_t *stream;  /* as in kibi_conv2d_s8_columns_params */
    int32_t groups;
    int32_t flags;
    uint32_t low;           /* the activation's range, in each byte */
    uint32_t high;
#if KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE
    /* Of two blocks, the second of which has its columns and its output directly after the first one's: 8 bytes before the second half
     * of the first one's columns, and before the second one's end. Each half is an even number of groups. */
    uint32_t half;
    uint32_t last;
#endif
} kibi_conv2d_s8_columns_task;

/* Computes pairs of channels; returns where in the stream the next one begins. */
const int32_t *kibi_conv2d_s8_columns_block(const kibi_conv2d_s8_columns_task *task);

#endif
