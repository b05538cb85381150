/* Two channels of four pixels of a convolution. */
#ifndef KIBI_CONV2D_S8_PIXELS4_H
#define KIBI_CONV2D_S8_PIXELS4_H

#include "kibi_conv2d_s8_pixels.h"

/* Computes the channels of four neighbouring pixels, two by two, or of several such blocks. */
void kibi_conv2d_s8_pixels4(kibi_conv2d_s8_pixels *task);

#endif
