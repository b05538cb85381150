/* Sums of products of int8, portable. */
#include "kibi_dot_4x1_s8.h"

#include "kibi_add_product.h"

void kibi_dot_4x1_s8(int32_t sums[4], const int32_t start[4], const int8_t *w, int32_t stride, const int8_t *x,
                     int32_t count)
{
    int32_t s0 = start[0];
    int32_t s1 = start[1];
    int32_t s2 = start[2];
    int32_t s3 = start[3];
    const int8_t *w1 = w + stride;
    const int8_t *w2 = w1 + stride;
    const int8_t *w3 = w2 + stride;
    const int8_t *const end = w + count;
    KIBI_UNROLL_TWICE
    do {
        const int32_t input = *x++;
        s0 = kibi_add_product(s0, *w++, input);
        s1 = kibi_add_product(s1, *w1++, input);
        s2 = kibi_add_product(s2, *w2++, input);
        s3 = kibi_add_product(s3, *w3++, input);
    } while (w != end);
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}
