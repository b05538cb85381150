/* Rows of DEPTHWISE_CONV_2D of int8 that some cores compute in a way of their own; in plain C there are none. */
#ifndef KIBI_DEPTHWISE_ROWS_S8_H
#define KIBI_DEPTHWISE_ROWS_S8_H

#include "kibi_depthwise_conv2d.h"

/* Computes a row as kibi_depthwise_conv2d_s8 does, and returns 1; or returns 0. */
static inline int kibi_depthwise_rows_s8(int8_t *output, const int8_t *const *rows,
                                         const kibi_depthwise_conv2d_s8_params *params)
{
    (void)output;
    (void)rows;
    (void)params;
    return 0;
}

#endif
