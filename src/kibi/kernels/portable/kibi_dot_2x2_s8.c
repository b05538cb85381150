/* Sums of products of int8, portable. */
#include "kibi_dot_2x2_s8.h"

#include "kibi_add_product.h"

void kibi_dot_2x2_s8(int32_t sums[4], const int32_t bias[2], const int8_t *w, const kibi_dot_2x2_s8_inputs *x)
{
    int32_t s00 = bias[0];
    int32_t s01 = bias[1];
    int32_t s10 = s00;
    int32_t s11 = s01;
    const int8_t *v = w + x->pieces * x->count;
    const int8_t *const *row = x->rows;
    const int8_t *const *const last = row + x->pieces;
    do {
        const int8_t *x0 = *row++ + x->offset;
        const int8_t *x1 = x0 + x->distance;
        const int8_t *const end = w + x->count;
        KIBI_UNROLL_TWICE
        do {
            const int32_t a = *w++;
            const int32_t b = *v++;
            const int32_t p = *x0++;
            const int32_t q = *x1++;
            s00 = kibi_add_product(s00, a, p);
            s01 = kibi_add_product(s01, b, p);
            s10 = kibi_add_product(s10, a, q);
            s11 = kibi_add_product(s11, b, q);
        } while (w != end);
    } while (row != last);
    sums[0] = s00;
    sums[1] = s01;
    sums[2] = s10;
    sums[3] = s11;
}
