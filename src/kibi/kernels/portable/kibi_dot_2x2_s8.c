/* Sums of products of int8, portable. */
#include "kibi_dot_2x2_s8.h"

void kibi_dot_2x2_s8(int32_t sums[4], const int32_t bias[2], const int8_t *w, int32_t stride, const int8_t *x0,
                     const int8_t *x1, int32_t count)
{
    int32_t s00 = bias[0];
    int32_t s01 = bias[1];
    int32_t s10 = s00;
    int32_t s11 = s01;
    const int8_t *v = w + stride;
    const int8_t *const end = w + count;
    KIBI_UNROLL_TWICE
    while (w != end) {
        const int32_t a = *w++;
        const int32_t b = *v++;
        const int32_t p = *x0++;
        const int32_t q = *x1++;
        s00 += a * p;
        s01 += b * p;
        s10 += a * q;
        s11 += b * q;
    }
    sums[0] = s00;
    sums[1] = s01;
    sums[2] = s10;
    sums[3] = s11;
}
