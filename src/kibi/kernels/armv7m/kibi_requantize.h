/* Accumulators as 8-bit outputs, Armv7-M: rules N2 to N4 of Kibi's numerics. */
#ifndef KIBI_REQUANTIZE_H
#define KIBI_REQUANTIZE_H

#include "kibi.h"

/* The high 32 bits of 2 * a * b, rounded half up.
 * b: 0 … 2**31 - 1, so that nothing saturates. */
static inline int32_t kibi_multiply_high(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
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
 * multiplier, shift: of the first of these channels.
 * As kibi_requantize: the product is shifted by 31, and the last bit that leaves is added. Where the shift is to the right, 1
 * is taken from what is negative, and the last bit that leaves is added. The sign of ~shift lives in a flag until then. */
static inline void kibi_requantize_channels(int8_t *output, const int32_t *sums, int32_t count, const int32_t *multiplier,
                                            const int8_t *shift, int32_t zero_point, int32_t low, int32_t high)
{
    const int8_t *const end = output + count;
    int32_t lower;
    int32_t a;
    int32_t s;
    int32_t last;
    __asm__ volatile("1:\n\t" /* the next channel */
                     "ldrsb %[s], [%[shift]], #1\n\t"
                     "ldr %[lower], [%[sums]], #4\n\t"
                     "ldr %[a], [%[multiplier]], #4\n\t"
                     /* ~shift is below 0 where the shift is to the left. That flag stays until the second branch:
                        nothing between sets it. */
                     "mvns %[s], %[s]\n\t"
                     "bpl 2f\n\t"
                     "mvn %[s], %[s]\n\t"
                     "lsl.w %[lower], %[lower], %[s]\n"
                     "2:\n\t" /* multiply */
                     "smull %[lower], %[a], %[lower], %[a]\n\t"
                     /* Of the 64 bits, 31 leave: the last of these is added to the others. */
                     "ubfx %[last], %[lower], #30, #1\n\t"
                     "lsr.w %[lower], %[lower], #31\n\t"
                     "orr %[a], %[lower], %[a], lsl #1\n\t"
                     "add.w %[a], %[a], %[last]\n\t"
                     "bmi 3f\n\t"
                     /* To the right: ~shift is one bit less than the shift, so that the last bit that leaves
                        decides. */
                     "add.w %[a], %[a], %[a], asr #31\n\t"
                     "asr.w %[a], %[a], %[s]\n\t"
                     "add.w %[a], %[a], #1\n\t"
                     "asr.w %[a], %[a], #1\n"
                     "3:\n\t" /* store */
                     "add.w %[a], %[a], %[zero_point]\n\t"
                     "cmp %[a], %[low]\n\t"
                     "it lt\n\t"
                     "movlt %[a], %[low]\n\t"
                     "cmp %[a], %[high]\n\t"
                     "it gt\n\t"
                     "movgt %[a], %[high]\n\t"
                     "strb %[a], [%[output]], #1\n\t"
                     "cmp %[output], %[end]\n\t"
                     "bne 1b"
                     : [output] "+r"(output), [sums] "+r"(sums), [multiplier] "+r"(multiplier), [shift] "+r"(shift),
                       [lower] "=&r"(lower), [a] "=&r"(a), [s] "=&r"(s), [last] "=&r"(last)
                     : [zero_point] "r"(zero_point), [low] "r"(low), [high] "r"(high), [end] "r"(end)
                     : "cc", "memory");
}

#endif
