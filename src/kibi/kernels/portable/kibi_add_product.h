/* Sums of products in 32 bits: they wrap, as TFLM's do, and C leaves nothing of it undefined. */
#ifndef KIBI_ADD_PRODUCT_H
#define KIBI_ADD_PRODUCT_H

#include "kibi.h"

/* sum + a * b. a, b: their product fits 32 bits; the sum wraps. */
static inline int32_t kibi_add_product(int32_t sum, int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)sum + (uint32_t)(a * b));
}

#endif
