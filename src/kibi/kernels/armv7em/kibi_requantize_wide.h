/* Sums of 64 bits, scaled, Armv7E-M: rules N26 and N52 of Kibi's numerics. */
#ifndef KIBI_REQUANTIZE_WIDE_H
#define KIBI_REQUANTIZE_WIDE_H

#include "kibi_dsp.h"

/* acc * multiplier * 2**(shift - 31) with the upper half of the multiplier, rounded once, halves up; 32 bits of the result.
 * acc: the product with 15 bits of the multiplier wraps in 64 bits. multiplier: 0 … 2**31 - 1. shift: -31 … 7; negative is to the right.
 * Sums of 32 bits that are shifted right by 1 … 17 take one multiplication, by a power of two times these 15 bits. */
static inline int32_t kibi_requantize_wide(int64_t acc, int32_t multiplier, int32_t shift)
{
    const uint32_t rounded = ((uint32_t)multiplier + (1u << 15)) >> 16;
    const uint32_t upper = rounded - (rounded >> 15); /* 0x7FFF in place of 0x8000 */
    const uint32_t power = (uint32_t)shift + 17u;
    const int32_t low = (int32_t)(uint32_t)(uint64_t)acc;
    if (low == acc && power < 17u) {
        int32_t high;
        __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(low), "r"(upper << power));
        return high;
    }
    const uint64_t product = (uint64_t)acc * upper + ((uint64_t)1 << (14 - shift));
    return (int32_t)(uint32_t)(uint64_t)((int64_t)product >> (15 - shift));
}

#endif
