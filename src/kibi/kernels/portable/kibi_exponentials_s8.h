/* Sums of exponentials in fixed point, and their reciprocals: what SOFTMAX and LOG_SOFTMAX of int8 share. */
#ifndef KIBI_EXPONENTIALS_S8_H
#define KIBI_EXPONENTIALS_S8_H

#include "kibi_requantize.h"
#include "kibi_leading_zeros.h"

/* Sums of exponentials have this many integer bits. */
enum { KIBI_SUM_BITS = 12 };

/* value * 2**bits, cut to the range of int32_t. */
static inline int32_t kibi_shift_left_saturating(int32_t value, int32_t bits)
{
    const int32_t shifted = (int32_t)((uint32_t)value << bits);
    return shifted >> bits == value ? shifted : value < 0 ? INT32_MIN : INT32_MAX;
}

/* The high 32 bits of 2 * a * b, rounded half up; neither is -2**31. */
static inline int32_t kibi_multiply(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* 1 / (1 + a) for 0 <= a < 1, both Q0.31: three Newton steps in Q2.29 on half the denominator. */
static inline int32_t kibi_one_over_one_plus(int32_t a)
{
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + kibi_multiply(half, -1010580540); /* 48/17 - 32/17 * half */
    for (int step = 0; step < 3; ++step) {
        const int32_t error = ((int32_t)1 << 29) - kibi_multiply(half, x);
        x = kibi_wrapping_add(x, kibi_shift_left_saturating(kibi_multiply(x, error), 2));
    }
    return kibi_shift_left_saturating(x, 1);
}

/* value / 2**exponent, rounded half up. value: 0 or more. exponent: 1 … 31. */
static inline int32_t kibi_divide_positive(int32_t value, int32_t exponent)
{
    return (int32_t)(((uint32_t)value + ((uint32_t)1 << (exponent - 1))) >> exponent);
}

/* The largest element. depth: 1 or more. */
static inline int32_t kibi_largest_s8(const int8_t *input, int32_t depth)
{
    int32_t largest = input[0];
    for (int32_t i = 1; i < depth; ++i) {
        largest = input[i] > largest ? input[i] : largest;
    }
    return largest;
}

/* The sum of the exponentials of the differences to the largest; those of `differences` and more count as 0. */
static inline int32_t kibi_sum_of_exponentials(const int8_t *input, int32_t depth, int32_t largest,
                                               const int32_t *exponentials, int32_t differences)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < depth; ++i) {
        const int32_t difference = largest - input[i];
        if (difference < differences) {
            sum += kibi_divide_positive(exponentials[difference], KIBI_SUM_BITS);
        }
    }
    return sum;
}

#endif
