/* Sums of 16-bit elements times 8-bit weights as 16-bit outputs: rules N4 and N26 of Kibi's numerics. */
#ifndef KIBI_REQUANTIZE_S16_H
#define KIBI_REQUANTIZE_S16_H

#include "kibi_dot_s16.h"
#include "kibi_requantize.h"

/* acc * multiplier * 2**(shift - 31) with the upper half of the multiplier, rounded once, halves up; 32 bits of the result.
 * acc: the product with 15 bits of the multiplier wraps in 64 bits. multiplier: 0 … 2**31 - 1. shift: -31 … 7; negative is to the right. */
static inline int32_t kibi_requantize_wide(int64_t acc, int32_t multiplier, int32_t shift)
{
    const int32_t upper = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const uint64_t product = (uint64_t)acc * (uint64_t)(int64_t)upper + ((uint64_t)1 << (14 - shift));
    return (int32_t)(uint32_t)(uint64_t)((int64_t)product >> (15 - shift));
}

/* The output of a channel: its sum scaled, wide or in 32 bits, which hold all that counts of it; moved, clamped.
 * shift: -31 … 7 where is_wide, else -31 … 30. */
static inline int16_t kibi_requantize_s16(int64_t acc, int32_t multiplier, int32_t shift, int32_t is_wide,
                                          int32_t zero_point, int32_t low, int32_t high)
{
    const int32_t scaled = is_wide != 0 ? kibi_requantize_wide(acc, multiplier, shift)
                                        : kibi_requantize((int32_t)(uint32_t)(uint64_t)acc, multiplier, shift);
    return (int16_t)kibi_clamp(kibi_wrapping_add(scaled, zero_point), low, high);
}

#endif
