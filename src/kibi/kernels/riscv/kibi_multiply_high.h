/* The rounded upper half of a product of two words, RISC-V with multiplication. */
#ifndef KIBI_MULTIPLY_HIGH_H
#define KIBI_MULTIPLY_HIGH_H

#include "kibi.h"

/* The high 32 bits of 2 * a * b, rounded half up: one instruction gives the upper half of the product with 2 * b, which has 32 bits
 * without a sign, and one the lower half.
 * b: 0 … 2**31 - 1, so that nothing saturates. */
static inline int32_t kibi_multiply_high(int32_t a, int32_t b)
{
    const uint32_t twice = (uint32_t)b << 1;
    const int32_t upper = (int32_t)(((int64_t)a * (int64_t)twice) >> 32);
    return upper + (int32_t)(((uint32_t)a * twice) >> 31);
}

#endif
