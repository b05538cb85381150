/* Sums of products of floats, one after another. */
#ifndef KIBI_DOT_F32_H
#define KIBI_DOT_F32_H

#include "kibi_float.h"

/* sum + w[0] * x[0] + w[1] * x[1] + …, from the left, each product and each sum rounded. count: 0 or more. */
static inline float kibi_dot_f32(float sum, const float *w, const float *x, int32_t count)
{
    const float *const end = x + count;
    while (x != end) {
        sum += *x++ * *w++;
    }
    return sum;
}

#endif
