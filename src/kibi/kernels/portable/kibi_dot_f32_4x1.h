/* Sums of products of floats of four channels, one after another in each. */
#ifndef KIBI_DOT_F32_4X1_H
#define KIBI_DOT_F32_4X1_H

#include "kibi_dot_f32.h"

enum { KIBI_DOT_F32_CHANNELS = 4 };

/* Adds to the sum of each channel the products of its `count` weights and elements, from the left, each product and each sum rounded.
 * w: of the first channel; stride: elements from there to the next one's. count: 0 or more. */
void kibi_dot_f32_4x1(float sums[KIBI_DOT_F32_CHANNELS], const float *w, int32_t stride, const float *x, int32_t count);

#endif
