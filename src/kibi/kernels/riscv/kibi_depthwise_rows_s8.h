/* Rows of DEPTHWISE_CONV_2D of int8 that RISC-V computes channel by channel. */
#ifndef KIBI_DEPTHWISE_ROWS_S8_H
#define KIBI_DEPTHWISE_ROWS_S8_H

#include "kibi_depthwise_conv2d.h"

/* Computes a row as kibi_depthwise_conv2d_s8 does, and returns 1; returns 0 where windows are not three by three, or where the output is
 * in the place of input that is still to be read. */
int kibi_depthwise_rows_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params);

#endif
