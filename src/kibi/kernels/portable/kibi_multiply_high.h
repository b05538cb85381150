/* The rounded upper half of a product of two words. */
#ifndef KIBI_MULTIPLY_HIGH_H
#define KIBI_MULTIPLY_HIGH_H

#include "kibi.h"

/* The high 32 bits of 2 * a * b, rounded half up.
 * b: 0 … 2**31 - 1, so that nothing saturates. */
static inline int32_t kibi_multiply_high(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

#endif
