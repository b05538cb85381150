/* The products of an input with a block of weights of int4, whose words are for two elements. */
#ifndef KIBI_ADD_INT4_S8_H
#define KIBI_ADD_INT4_S8_H

#include "kibi_dot_int4_4x1_s8.h"
#include "kibi_int4_s8.h"

/* Adds them to the sums, over `count` elements, at least one; returns what is after the weights. */
static inline const int32_t *kibi_add_int4_s8(int32_t sums[4], const int32_t *w, const int8_t *x, int32_t count)
{
    kibi_dot_int4_4x1_s8(sums, w, x, count);
    return w + kibi_int4_words(count);
}

#endif
