/* One pixel of a convolution, or a fully connected layer: blocks of four channels, from sums to outputs. */
#ifndef KIBI_CONV2D_S8_SINGLE_H
#define KIBI_CONV2D_S8_SINGLE_H

#include "kibi_conv2d_s8_windows.h"

/* Computes the channels four by four, of the first window; multiplier, shift, output and bias are then after the last one. */
void kibi_conv2d_s8_single(kibi_conv2d_s8_windows *windows);

#endif
