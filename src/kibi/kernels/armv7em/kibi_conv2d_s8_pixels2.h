/* Two channels of two pixels of a convolution. */
#ifndef KIBI_CONV2D_S8_PIXELS2_H
#define KIBI_CONV2D_S8_PIXELS2_H

#include "kibi_conv2d_s8_pixels.h"

/* Computes the channels of two neighbouring pixels, two by two, or of several such blocks. */
void kibi_conv2d_s8_pixels2(kibi_conv2d_s8_pixels *task);

#endif
