/* A block of sums of products: four rows of weights and one input. A function of its own, so that its loop has all registers. */
#ifndef KIBI_DOT_4X1_S8_H
#define KIBI_DOT_4X1_S8_H

#include "kibi.h"

/* sums[i] becomes start[i] plus the products of weights row i and the one input, over `count` elements, at least one.
 * start: may be sums. w: four rows of weights, `stride` elements apart. */
void kibi_dot_4x1_s8(int32_t sums[4], const int32_t start[4], const int8_t *w, int32_t stride, const int8_t *x,
                     int32_t count);

#endif
