/* The exponential function of floats by doubles: what all ways to compute it share. Source of the rule: glibc,
 * ieee754/flt-32/e_expf.c. */
#ifndef KIBI_EXP_F32_DOUBLES_H
#define KIBI_EXP_F32_DOUBLES_H

#include <string.h>

#include "kibi_float.h"

/* 2**(k / 32) as the bits of a double. */
static const uint64_t kibi_exp_f32_powers[32] = {
    0x3ff0000000000000u, 0x3ff059b0d3158574u, 0x3ff0b5586cf9890fu, 0x3ff11301d0125b51u,
    0x3ff172b83c7d517bu, 0x3ff1d4873168b9aau, 0x3ff2387a6e756238u, 0x3ff29e9df51fdee1u,
    0x3ff306fe0a31b715u, 0x3ff371a7373aa9cbu, 0x3ff3dea64c123422u, 0x3ff44e086061892du,
    0x3ff4bfdad5362a27u, 0x3ff5342b569d4f82u, 0x3ff5ab07dd485429u, 0x3ff6247eb03a5585u,
    0x3ff6a09e667f3bcdu, 0x3ff71f75e8ec5f74u, 0x3ff7a11473eb0187u, 0x3ff82589994cce13u,
    0x3ff8ace5422aa0dbu, 0x3ff93737b0cdc5e5u, 0x3ff9c49182a3f090u, 0x3ffa5503b23e255du,
    0x3ffae89f995ad3adu, 0x3ffb7f76f2fb5e47u, 0x3ffc199bdd85529cu, 0x3ffcb720dcef9069u,
    0x3ffd5818dcfba487u, 0x3ffdfc97337b9b5fu, 0x3ffea4afa2a490dau, 0x3fff50765b6e4540u
};

static inline float kibi_exp_f32_of_doubles(float value)
{
    /* 32 / ln 2, and the coefficients of a polynomial for 2**(rest / 32). */
    const double scaled = 46.16624130844683 * (double)value;
    const double cubic = 1.6938359250920212e-06;
    const double square = 0.00023459809789509004;
    const double linear = 0.021660849396613134;
    if (!(value >= -103.9720764f)) {
        return value < 0.0f ? 0.0f : value;
    }
    if (value > 88.72283173f) {
        return value * 3.402823466e+38f; /* infinity */
    }
    /* Adding and taking away 1.5 * 2**52 rounds to a whole number. */
    const double shifted = scaled + 6755399441055744.0;
    const double whole = shifted - 6755399441055744.0;
    const double rest = scaled - whole;
    const int32_t k = (int32_t)whole;
    const uint64_t bits = kibi_exp_f32_powers[k & 31] + ((uint64_t)(int64_t)(k >> 5) << 52);
    double power;
    (void)memcpy(&power, &bits, sizeof(power));
    return (float)(((cubic * rest + square) * (rest * rest) + (linear * rest + 1.0)) * power);
}

#endif
