/* Two channels of three pixels of a convolution. */
#ifndef KIBI_CONV2D_S8_PIXELS3_H
#define KIBI_CONV2D_S8_PIXELS3_H

#include "kibi_conv2d_s8_pixels.h"

/* Computes the channels of three neighbouring pixels, two by two, or of several such blocks. */
void kibi_conv2d_s8_pixels3(kibi_conv2d_s8_pixels *task);

#endif
