/* The square root of a float, rounded to nearest as IEEE 754 has it, in integers: no library, no difference between cores. */
#ifndef KIBI_SQUARE_ROOT_H
#define KIBI_SQUARE_ROOT_H

#include "kibi_float_bits.h"

/* Of what is negative it is a NaN; zeros, +infinity and NaN stay what they are. */
static inline float kibi_square_root(float value)
{
    const uint32_t bits = kibi_bits_of_float(value);
    if (value == 0.0f || bits == 0x7F800000u || value != value) {
        return value;
    }
    if (bits >> 31 != 0u) {
        return kibi_float_of_bits(0xFFC00000u);
    }
    int32_t exponent = (int32_t)(bits >> 23);
    uint32_t mantissa = bits & 0x7FFFFFu;
    if (exponent == 0) {
        for (exponent = 1; mantissa < 0x800000u; --exponent) {
            mantissa <<= 1;
        }
    } else {
        mantissa |= 0x800000u;
    }
    /* value = mantissa * 2**(exponent - 150); the power must be even for its half to be whole. */
    int32_t power = exponent - 150;
    if ((power & 1) != 0) {
        mantissa <<= 1;
        --power;
    }
    /* One bit more than a mantissa has: digit by digit, of mantissa * 2**26. */
    uint64_t rest = (uint64_t)mantissa << 26;
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 50; bit != 0u; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    /* The root has 25 or 26 bits, and no root is half-way between two floats. */
    const uint32_t found = (uint32_t)root;
    const int32_t extra = found >> 25 != 0u ? 2 : 1;
    const uint32_t rounded = (found + (1u << (extra - 1))) >> extra;
    return kibi_float_of_bits((uint32_t)(power / 2 - 13 + extra + 150 - 1) * 0x800000u + rounded);
}

#endif
