/* A block of sums of products: four channels of weights of int4 in words for four elements, and one input. A function of its own,
 * so that its loop has all registers. */
#ifndef KIBI_DOT_INT4_FOURS_S8_H
#define KIBI_DOT_INT4_FOURS_S8_H

#include "kibi.h"

/* The most elements of a call: 4096 times the sum of their products with weights of -8 fits 32 bits. */
enum { KIBI_INT4_FOURS_AT_ONCE = 504 };

/* Adds to the sums of the first three channels w + 8 times the elements, to that of the fourth w times the elements, over `count`
 * of them, at least one. Sums wrap.
 * w: two words for each four elements, as kibi_int4_s8.h says. */
void kibi_dot_int4_fours_s8(int32_t sums[4], const int32_t *w, const int8_t *x, int32_t count);

#endif
