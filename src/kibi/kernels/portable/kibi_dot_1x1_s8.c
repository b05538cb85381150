/* Sums of products of int8, portable. */
#include "kibi_dot_1x1_s8.h"

#include "kibi_add_product.h"

int32_t kibi_dot_1x1_s8(int32_t start, const int8_t *w, const int8_t *x, int32_t count)
{
    int32_t sum = start;
    const int8_t *const end = w + count;
    KIBI_UNROLL_TWICE
    do {
        sum = kibi_add_product(sum, *w++, *x++);
    } while (w != end);
    return sum;
}
