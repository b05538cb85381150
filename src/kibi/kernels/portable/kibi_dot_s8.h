/* Sums of products of bytes for small blocks of outputs: each element is loaded once for the whole block. */
#ifndef KIBI_DOT_S8_H
#define KIBI_DOT_S8_H

#include "kibi.h"

/* Adds to sum[2 * i + j] the product sum of weights row i and input j, over `count` elements.
 * w0, w1: two rows of weights. x0, x1: two inputs. */
static inline void kibi_dot_2x2_s8(const int8_t *w0, const int8_t *w1, const int8_t *x0, const int8_t *x1, int32_t count,
                                   int32_t sum[4])
{
    int32_t s00 = sum[0];
    int32_t s01 = sum[1];
    int32_t s10 = sum[2];
    int32_t s11 = sum[3];
    const int8_t *const end = w0 + count;
    while (w0 != end) {
        const int32_t a = *w0++;
        const int32_t b = *w1++;
        const int32_t p = *x0++;
        const int32_t q = *x1++;
        s00 += a * p;
        s01 += a * q;
        s10 += b * p;
        s11 += b * q;
    }
    sum[0] = s00;
    sum[1] = s01;
    sum[2] = s10;
    sum[3] = s11;
}

/* Adds to sum[i] the product sum of weights row i and the one input, over `count` elements. */
static inline void kibi_dot_2x1_s8(const int8_t *w0, const int8_t *w1, const int8_t *x, int32_t count, int32_t sum[2])
{
    int32_t s0 = sum[0];
    int32_t s1 = sum[1];
    const int8_t *const end = w0 + count;
    while (w0 != end) {
        const int32_t p = *x++;
        s0 += *w0++ * p;
        s1 += *w1++ * p;
    }
    sum[0] = s0;
    sum[1] = s1;
}

#endif
