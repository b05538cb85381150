/* Sums of products of 16-bit elements and 8-bit weights. */
#ifndef KIBI_DOT_S16_H
#define KIBI_DOT_S16_H

#include "kibi.h"

/* A sum, plus the products of `count` weights and elements. */
static inline int64_t kibi_dot_s16(int64_t sum, const int8_t *w, const int16_t *x, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        sum = (int64_t)((uint64_t)sum + (uint64_t)(int64_t)((int32_t)w[i] * x[i]));
    }
    return sum;
}

#endif
