/* The exponential function of floats, Armv7E-M: in integers where these decide how the result is rounded and doubles have no
 * instructions. Source of the rule: glibc, ieee754/flt-32/e_expf.c. */
#include "kibi_exp_f32.h"

#include <string.h>

#include "kibi_exp_f32_doubles.h"
#include "kibi_float_bits.h"

#if !defined(__ARM_FP) || (__ARM_FP & 8) == 0
#define DOUBLES_ARE_SLOW 1
#else
#define DOUBLES_ARE_SLOW 0
#endif

#if DOUBLES_ARE_SLOW
/* The upper 64 bits of a product, at most 2 too low. */
static inline uint64_t upper_product(uint64_t a, uint64_t b)
{
    const uint32_t a_low = (uint32_t)a;
    const uint32_t a_high = (uint32_t)(a >> 32);
    const uint32_t b_low = (uint32_t)b;
    const uint32_t b_high = (uint32_t)(b >> 32);
    return (uint64_t)a_high * b_high + ((uint64_t)a_high * b_low >> 32) + ((uint64_t)a_low * b_high >> 32);
}

/* The rule's polynomial for 2**(rest / 32), with 63 bits after the point; it is wrong by less than 2**-42.
 * rest: with 64 bits after the point. */
static inline uint64_t polynomial(int64_t rest)
{
    const int32_t high = (int32_t)(rest >> 32);
    const uint32_t low = (uint32_t)(uint64_t)rest;
    /* 1.6938359250920212e-06 * 2**50, 0.00023459809789509004 * 2**43, 0.021660849396613134 * 2**68 */
    const int32_t cubic = 1907089710;
    const int32_t square = 2063546692;
    const int32_t linear_high = 0x58B90BFC;
    const uint32_t linear_low = 0x314B5800u;
    const int32_t sum = square + (int32_t)(((int64_t)cubic * high >> 32) >> 7);
    const int32_t product = (int32_t)((int64_t)sum * high >> 31); /* 44 bits after the point */
    const int64_t linear = (int64_t)high * linear_high + ((int64_t)high * (int32_t)(linear_low >> 1) >> 31) +
                           (int64_t)((uint64_t)low * (uint32_t)linear_high >> 32);
    return ((uint64_t)1 << 63) + (uint64_t)(linear >> 5) + (uint64_t)((int64_t)product * high >> 13);
}

/* Computes the result in integers, where -87 <= value <= 88.72; returns whether doubles give the same for certain: their errors, and
 * those here, are far smaller than the distance to where k, or the result's last bit, is another one. */
static inline int decide(float value, float *result)
{
    const uint32_t bits = kibi_bits_of_float(value);
    const int32_t shift = (int32_t)(bits >> 23 & 0xFFu) - 127 + 33;
    /* |value| with 56 bits after the point; where it is tiny, the result is 1 in any case. */
    const uint64_t magnitude = shift < 0 ? 0u : (uint64_t)((bits & 0x7FFFFFu) | 0x800000u) << shift;
    /* times 32 / ln 2, with 50 bits after the point; the factor has 58 */
    const uint64_t scaled = upper_product(magnitude, 0xB8AA3B295C17F000u);
    const int64_t exponent = (int64_t)(bits >> 31 != 0u ? 0u - scaled : scaled);
    const int32_t k = (int32_t)((exponent + ((int64_t)1 << 49)) >> 50);
    const int64_t rest = (int64_t)((uint64_t)exponent - ((uint64_t)(int64_t)k << 50));
    const uint64_t power = kibi_exp_f32_powers[k & 31] << 11 | (uint64_t)1 << 63;
    /* The result without its exponent, with 62 bits after the point. */
    uint64_t product = upper_product(polynomial((int64_t)((uint64_t)rest << 14)), power);
    int32_t one = 1;
    while (product >> 63 == 0u) { /* at most twice */
        product <<= 1;
        --one;
    }
    const uint32_t after = (uint32_t)(product >> 8);
    const uint32_t from_half = (uint32_t)(uint64_t)(rest >> 18) + 0x80000040u;
    *result = kibi_float_of_bits(((uint32_t)((k >> 5) + one + 126) << 23) + (uint32_t)(product >> 40) + (after >> 31));
    return from_half >= 0x80u && after - 0x7FFF0000u >= 0x20000u;
}
#endif

float kibi_exp_f32(float value)
{
#if DOUBLES_ARE_SLOW
    float result;
    if (value >= -87.0f && value <= 88.72283173f && decide(value, &result) != 0) {
        return result;
    }
#endif
    return kibi_exp_f32_of_doubles(value);
}
