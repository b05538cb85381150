/* The exact rest of a division of floats, from their bits: what C99's fmodf gives, without a mathematical library. */
#ifndef KIBI_REST_OF_BITS_H
#define KIBI_REST_OF_BITS_H

#include "kibi_float_bits.h"

/* The integer and the power of two, above 2**-149, whose product a finite magnitude is. */
static inline uint32_t kibi_integer_of_magnitude(uint32_t bits, int32_t *power)
{
    const int32_t exponent = (int32_t)(bits >> 23);
    *power = exponent == 0 ? 0 : exponent - 1;
    return exponent == 0 ? bits : (bits & 0x7FFFFFu) | 0x800000u;
}

/* The bits of dividend - divisor * n, where n is the quotient cut towards zero; the dividend's sign; NaN where the dividend is
 * infinite, the divisor is 0, or one of them is NaN. */
static inline uint32_t kibi_rest_of_bits(uint32_t dividend, uint32_t divisor)
{
    const uint32_t sign = dividend & 0x80000000u;
    const uint32_t x = dividend & 0x7FFFFFFFu;
    const uint32_t y = divisor & 0x7FFFFFFFu;
    int32_t power;
    int32_t least;
    if (x >= 0x7F800000u || y > 0x7F800000u || y == 0) {
        return 0x7FC00000u;
    }
    if (x < y) {
        return dividend;
    }
    uint32_t rest = kibi_integer_of_magnitude(x, &power);
    const uint32_t step = kibi_integer_of_magnitude(y, &least);
    for (rest %= step; power > least; --power) {
        rest = rest * 2 % step;
    }
    /* The rest times 2**least is below the divisor, and exact; least is where its bits may go up to. */
    for (; rest != 0 && rest < 0x800000u && power > 0; --power) {
        rest *= 2;
    }
    return sign | (rest < 0x800000u ? rest : (rest & 0x7FFFFFu) | (uint32_t)(power + 1) << 23);
}

#endif
