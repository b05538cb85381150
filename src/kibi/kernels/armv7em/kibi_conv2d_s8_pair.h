/* Two neighbouring pixels of a convolution: pairs of channels, from sums to outputs. */
#ifndef KIBI_CONV2D_S8_PAIR_H
#define KIBI_CONV2D_S8_PAIR_H

#include "kibi_conv2d_s8_windows.h"

/* Computes the channels two by two, of both pixels; multiplier, shift, output and bias are then after the last one. */
void kibi_conv2d_s8_pair(kibi_conv2d_s8_windows *windows);

#endif
