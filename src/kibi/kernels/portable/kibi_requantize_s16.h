/* Sums of 16-bit elements times 8-bit weights as 16-bit outputs: rules N4 and N26 of Kibi's numerics. */
#ifndef KIBI_REQUANTIZE_S16_H
#define KIBI_REQUANTIZE_S16_H

#include "kibi_dot_s16.h"
#include "kibi_requantize.h"
#include "kibi_requantize_wide.h"

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
