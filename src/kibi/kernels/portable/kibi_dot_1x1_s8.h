/* A block of sums of products: one row of weights and one input. A function of its own, so that its loop has all registers. */
#ifndef KIBI_DOT_1X1_S8_H
#define KIBI_DOT_1X1_S8_H

#include "kibi.h"

/* start plus the products of one row of weights and one input, over `count` elements, at least one. */
int32_t kibi_dot_1x1_s8(int32_t start, const int8_t *w, const int8_t *x, int32_t count);

#endif
