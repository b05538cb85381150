/* Functions in 32-bit fixed point. */
#include "kibi_fixed_point.h"

#include <string.h>

#include "kernels/kibi_exponentials_s8.h"

/* exp(a) for -1/4 <= a < 0 without integer bits: the Taylor polynomial of degree 4 around -1/8. */
static int32_t exp_on_last_quarter(int32_t a)
{
    enum { EXP_OF_MINUS_EIGHTH = 1895147668, ONE_THIRD = 715827883 };
    const int32_t x = a + ((int32_t)1 << 28);
    const int32_t x2 = kibi_multiply(x, x);
    const int32_t x3 = kibi_multiply(x2, x);
    const int32_t quarter_x4 = kibi_divide_by_power(kibi_multiply(x2, x2), 2);
    const int32_t tail = kibi_divide_by_power(kibi_multiply(quarter_x4 + x3, ONE_THIRD) + x2, 1);
    return EXP_OF_MINUS_EIGHTH + kibi_multiply(EXP_OF_MINUS_EIGHTH, x + tail);
}

int32_t kibi_exp_on_negative(int32_t a, int integer_bits)
{
    /* exp(-2**power) for the powers -2 … 4, one for each bit that the rest of the argument may have */
    static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int fraction_bits = 31 - integer_bits;
    const int32_t quarter = (int32_t)1 << (fraction_bits - 2);
    const int32_t low = (a & (quarter - 1)) - quarter;
    const uint32_t rest = (uint32_t)low - (uint32_t)a;
    int32_t result = exp_on_last_quarter(kibi_shift_left_saturating(low, integer_bits));
    for (int power = -2; power < integer_bits && power <= 4; ++power) {
        if ((rest & ((uint32_t)1 << (fraction_bits + power))) != 0) {
            result = kibi_multiply(result, factors[power + 2]);
        }
    }
    return a == 0 ? INT32_MAX : result;
}

/* 2 / (1 + a) for 0 <= a <= 1 without integer bits; the result has two. Three Newton steps on half the denominator. */
static int32_t one_over_half_of_one_plus(int32_t a)
{
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + kibi_multiply(half, -1010580540); /* 48/17 - 32/17 * half */
    for (int step = 0; step < 3; ++step) {
        const int32_t error = ((int32_t)1 << 29) - kibi_multiply(half, x);
        x = kibi_wrapping_add(x, kibi_shift_left_saturating(kibi_multiply(x, error), 2));
    }
    return x;
}

int32_t kibi_logistic_fixed(int32_t a)
{
    const int32_t e = kibi_exp_on_negative(a < 0 ? a : -a, 4);
    const int32_t positive = kibi_shift_left_saturating(one_over_half_of_one_plus(e), 1);
    return a == 0 ? (int32_t)1 << 30 : (a > 0 ? positive : INT32_MAX - positive);
}

int32_t kibi_tanh_fixed(int32_t a)
{
    /* The doubled argument has one integer bit more, and the same number. */
    const int32_t e = kibi_exp_on_negative(a < 0 ? a : -a, 5);
    const int32_t magnitude = kibi_shift_left_saturating(one_over_half_of_one_plus(e) - ((int32_t)1 << 29), 2);
    return a == 0 ? 0 : (a > 0 ? magnitude : -magnitude);
}

double kibi_square_root_f64(double value)
{
    uint64_t bits;
    uint64_t mantissa;
    uint64_t rest = 0;
    uint64_t root = 0;
    int32_t exponent;
    double power;
    memcpy(&bits, &value, sizeof bits);
    exponent = (int32_t)((bits >> 52) & 0x7FF) - 1075;
    mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    if ((exponent & 1) != 0) {
        mantissa <<= 1;
        --exponent;
    }
    /* The root of mantissa * 2**54 has 54 bits, digit by digit, from two bits each. */
    for (int pair = 53; pair >= 0; --pair) {
        const uint64_t trial = root << 2 | 1;
        rest = rest << 2 | (pair >= 27 ? mantissa >> (2 * (pair - 27)) & 3 : 0);
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    /* No root is half-way between two numbers of 53 bits. */
    bits = (uint64_t)(1023 + (exponent - 54) / 2 + 1) << 52;
    memcpy(&power, &bits, sizeof power);
    return (double)((root + 1) >> 1) * power;
}
