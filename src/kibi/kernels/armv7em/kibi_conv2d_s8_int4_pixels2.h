/* Two channels of two pixels of a convolution with weights of int4. */
#ifndef KIBI_CONV2D_S8_INT4_PIXELS2_H
#define KIBI_CONV2D_S8_INT4_PIXELS2_H

#include "kibi_conv2d_s8_pixels.h"

/* Computes the channels of two neighbouring pixels, two by two, or of several such blocks. */
void kibi_conv2d_s8_int4_pixels2(kibi_conv2d_s8_pixels *task);

#endif
