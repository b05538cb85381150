/* Sums as 8-bit outputs by one product where what is below the zero point is cut off: rule N53 of Kibi's numerics. */
#ifndef KIBI_ROUND_ONCE_H
#define KIBI_ROUND_ONCE_H

#include "kibi.h"

/* Bits of the fraction that an output has before it is cut off. */
enum { KIBI_CONV2D_FRACTION_BITS = 11, KIBI_DEPTHWISE_FRACTION_BITS = 8 };

/* The output of a sum, which is 256 times the true one plus the channel's addend, before the activation cuts it.
 * factor: 0 … 2**31 - 1. */
static inline int32_t kibi_round_once(int32_t sum, int32_t factor, int32_t zero_point, int32_t fraction_bits)
{
    return ((int32_t)((int64_t)sum * factor >> 32) + zero_point * (1 << fraction_bits)) >> fraction_bits;
}

#endif
