/* A block of sums of products: four channels of packed weights and one input. A function of its own, so that its loop has all
 * registers. */
#ifndef KIBI_DOT_INT4_4X1_S8_H
#define KIBI_DOT_INT4_4X1_S8_H

#include "kibi.h"

/* Adds to each sum its channel's w + 8 times the elements, over `count` of them, at least one. Sums wrap.
 * w: words of weights, as kibi_int4_s8.h says. */
void kibi_dot_int4_4x1_s8(int32_t sums[4], const int32_t *w, const int8_t *x, int32_t count);

#endif
