/* One float divided by another with integers alone, for compilers whose own function for it does not round small quotients. */
#include "kibi_quotient_f32.h"

#ifdef KIBI_DIVIDES_BY_INTEGERS

#include "kibi_float_bits.h"

#define SIGN 0x80000000u
#define INFINITE 0x7F800000u
#define QUIET 0x00400000u
#define LEAST_NORMAL 0x00800000u

/* rest / divisor, which is at least 1 and below 2, with 24 binary digits after the point, and a 25th that is 1 if anything
 * follows; divisor < 2**24. */
static inline uint32_t digits_of(uint32_t rest, uint32_t divisor)
{
    uint32_t quotient = 1;
    rest -= divisor;
#ifdef __ARM_FEATURE_IDIV
    while (quotient < 1u << 24) {
        rest <<= 8;
        quotient = (quotient << 8) + rest / divisor;
        rest %= divisor;
    }
#else
    while (quotient < 1u << 24) {
        rest = (rest << 1) - divisor;
        const uint32_t is_less = rest >> 31;
        rest += divisor & (0u - is_less);
        quotient = (quotient << 1) + 1u - is_less;
    }
#endif
    return quotient << 1 | (uint32_t)(rest != 0u);
}

float kibi_quotient_f32(float a, float b)
{
    const uint32_t sign = (kibi_bits_of_float(a) ^ kibi_bits_of_float(b)) & SIGN;
    uint32_t rest = kibi_bits_of_float(a) & ~SIGN;
    uint32_t divisor = kibi_bits_of_float(b) & ~SIGN;
    int32_t exponent = 127;
    if (rest - LEAST_NORMAL >= INFINITE - LEAST_NORMAL || divisor - LEAST_NORMAL >= INFINITE - LEAST_NORMAL) {
        if (rest > INFINITE) {
            return kibi_float_of_bits(kibi_bits_of_float(a) | QUIET);
        }
        if (divisor > INFINITE) {
            return kibi_float_of_bits(kibi_bits_of_float(b) | QUIET);
        }
        if (rest == 0u || divisor == INFINITE) {
            return kibi_float_of_bits(rest == INFINITE || divisor == 0u ? INFINITE | QUIET : sign);
        }
        if (rest == INFINITE || divisor == 0u) {
            return kibi_float_of_bits(sign | INFINITE);
        }
        for (; rest < LEAST_NORMAL; --exponent) {
            rest <<= 1;
        }
        for (; divisor < LEAST_NORMAL; ++exponent) {
            divisor <<= 1;
        }
    }
    exponent += (int32_t)(rest >> 23) - (int32_t)(divisor >> 23);
    rest = (rest & (LEAST_NORMAL - 1u)) | LEAST_NORMAL;
    divisor = (divisor & (LEAST_NORMAL - 1u)) | LEAST_NORMAL;
    if (rest < divisor) {
        rest <<= 1;
        --exponent;
    }
    /* The quotient is rest / divisor * 2**(exponent - 127). */
    if (exponent > 254) {
        return kibi_float_of_bits(sign | INFINITE);
    }
    uint32_t quotient = digits_of(rest, divisor);
    /* Below 2**-126, floats have one digit less for each power of two. */
    for (; exponent < 1; ++exponent) {
        quotient = quotient >> 1 | (quotient & 1u);
    }
    /* The last two digits round the others: more than half goes up, and half goes to the even neighbour. The digit before the
     * point, where there is one, adds 1 to the exponent, and so does a carry. */
    quotient = (quotient + 1u + (quotient >> 2 & 1u)) >> 2;
    return kibi_float_of_bits(sign | (((uint32_t)(exponent - 1) << 23) + quotient));
}

#endif
