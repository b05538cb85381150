/* Sums of 64 bits, scaled: rule N26 of Kibi's numerics. */
#ifndef KIBI_REQUANTIZE_WIDE_H
#define KIBI_REQUANTIZE_WIDE_H

#include "kibi.h"

/* acc * multiplier * 2**(shift - 31) with the upper half of the multiplier, rounded once, halves up; 32 bits of the result.
 * acc: the product with 15 bits of the multiplier wraps in 64 bits. multiplier: 0 … 2**31 - 1. shift: -31 … 7; negative is to the right. */
static inline int32_t kibi_requantize_wide(int64_t acc, int32_t multiplier, int32_t shift)
{
    const int32_t upper = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const uint64_t product = (uint64_t)acc * (uint64_t)(int64_t)upper + ((uint64_t)1 << (14 - shift));
    return (int32_t)(uint32_t)(uint64_t)((int64_t)product >> (15 - shift));
}

#endif
