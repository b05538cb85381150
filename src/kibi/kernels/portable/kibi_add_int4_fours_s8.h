/* The products of an input with a block of weights of int4, whose words are for four elements. */
#ifndef KIBI_ADD_INT4_FOURS_S8_H
#define KIBI_ADD_INT4_FOURS_S8_H

#include "kibi_dot_int4_fours_s8.h"

/* Words of a block's weights for `count` elements. */
static inline int32_t kibi_int4_fours_words(int32_t count)
{
    return (count + 3) / 4 * 2;
}

/* Adds them to the sums, over `count` elements, at least one; returns what is after the weights. */
static inline const int32_t *kibi_add_int4_fours_s8(int32_t sums[4], const int32_t *w, const int8_t *x, int32_t count)
{
    do {
        const int32_t next = count < KIBI_INT4_FOURS_AT_ONCE ? count : (int32_t)KIBI_INT4_FOURS_AT_ONCE;
        kibi_dot_int4_fours_s8(sums, w, x, next);
        w += kibi_int4_fours_words(next);
        x += next;
        count -= next;
    } while (count != 0);
    return w;
}

#endif
