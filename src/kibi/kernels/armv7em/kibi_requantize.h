/* Accumulators as 8-bit outputs, Armv7E-M: rules N2 to N4 of Kibi's numerics. */
#ifndef KIBI_REQUANTIZE_H
#define KIBI_REQUANTIZE_H

#include "kibi_dsp.h"

/* The high 32 bits of 2 * a * b, rounded half up. The doubled multiplier, read as a signed number, is 2**32 too small where
 * it is that large, so that a is added then.
 * b: 0 … 2**31 - 1, so that nothing saturates. */
static inline int32_t kibi_multiply_high(int32_t a, int32_t b)
{
    const int32_t doubled = (int32_t)((uint32_t)b << 1);
    int32_t high;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(high) : "r"(a), "r"(doubled), "r"(a & (doubled >> 31)));
    return high;
}

/* value / 2**exponent, rounded half away from zero: the magnitude is rounded, which 32 unsigned bits hold.
 * exponent: 0 … 31. */
static inline int32_t kibi_divide_by_power(int32_t value, int32_t exponent)
{
    const uint32_t sign = (uint32_t)(value >> 31);
    const uint32_t half = ((uint32_t)1 << exponent) >> 1;
    const uint32_t rounded = ((((uint32_t)value ^ sign) - sign) + half) >> exponent;
    return (int32_t)((rounded ^ sign) - sign);
}

/* acc * multiplier * 2**(shift - 31), rounded twice; the left shift wraps.
 * multiplier: 0 … 2**31 - 1. shift: -31 … 30; negative is to the right. */
static inline int32_t kibi_requantize(int32_t acc, int32_t multiplier, int32_t shift)
{
    if (shift >= 0) {
        return kibi_multiply_high((int32_t)((uint32_t)acc << shift), multiplier);
    }
    /* Half away from zero is half up once 1 was taken from what is negative. The product's magnitude is below 2**31 - 1, so
     * that nothing overflows; the last bit that is shifted out decides. */
    const int32_t high = kibi_multiply_high(acc, multiplier);
    return (((high + (high >> 31)) >> ~shift) + 1) >> 1;
}

/* Two's complement addition: defined where the sum leaves the range, as extreme scales can make it. */
static inline int32_t kibi_wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* The value cut to low … high; high wins where the range is empty. */
static inline int32_t kibi_clamp(int32_t value, int32_t low, int32_t high)
{
    const int32_t raised = value < low ? low : value;
    return raised > high ? high : raised;
}

/* The outputs of `count` neighbouring channels, at least one, from their sums: scaled, moved by the zero point, clamped.
 * multiplier, shift: of the first of these channels. */
static inline void kibi_requantize_channels(int8_t *output, const int32_t *sums, int32_t count, const int32_t *multiplier,
                                            const int8_t *shift, int32_t zero_point, int32_t low, int32_t high)
{
    const int8_t *const end = output + count;
    do {
        const int32_t scaled = kibi_requantize(*sums++, *multiplier++, *shift++);
        *output++ = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, zero_point), low, high);
    } while (output != end);
}

/* In assembly: a sum times 256 becomes an output. KIBI_POWERS_OF_SUMS makes the powers for the sums in r4 and r5, to r2 and r3, before.
 * The lowest byte of a sum says by how much it is shifted but for 1: a shift by a register looks at that byte alone, and makes the power
 * -2**(32 - the shift). The high half of 2 * sum * multiplier is rounded half up; 1 is taken from what is negative, so that half up is
 * half away from zero; that times the power is subtracted from the zero point in r1, and the high half rounded half up. */
#define KIBI_SCALE(sum, multiplier, power)                                 \
    "asr " sum ", " sum ", #7\n"                                           \
    "smmulr " sum ", " sum ", " multiplier "\n"                            \
    "add " sum ", " sum ", " sum ", asr #31\n"                             \
    "smmlsr " sum ", " sum ", " power ", r1\n"                             \
    "ssat " sum ", #8, " sum "\n"

#define KIBI_POWERS_OF_SUMS                                                \
    "mov r3, #0x80000000\n"                                                \
    "asr r2, r3, r4\n"                                                     \
    "asr r3, r3, r5\n"

#endif
