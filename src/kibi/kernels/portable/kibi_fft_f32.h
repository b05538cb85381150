/* The arithmetic of transforms of floats: each product and each sum is rounded by itself, and nothing is scaled (rule N41). */
#ifndef KIBI_FFT_F32_H
#define KIBI_FFT_F32_H

#include "kibi_float.h"

typedef float kibi_fft_scalar;

static inline kibi_fft_scalar kibi_fft_sum(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return a + b;
}

static inline kibi_fft_scalar kibi_fft_difference(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return a - b;
}

static inline kibi_fft_scalar kibi_fft_negative(kibi_fft_scalar a)
{
    return -a;
}

static inline kibi_fft_scalar kibi_fft_product(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return a * b;
}

static inline kibi_fft_scalar kibi_fft_products(kibi_fft_scalar a, kibi_fft_scalar b, kibi_fft_scalar c, kibi_fft_scalar d)
{
    return a * b + c * d;
}

static inline kibi_fft_scalar kibi_fft_crossed(kibi_fft_scalar a, kibi_fft_scalar b, kibi_fft_scalar c, kibi_fft_scalar d)
{
    return a * b - c * d;
}

static inline kibi_fft_scalar kibi_fft_quotient(kibi_fft_scalar a, int32_t by)
{
    (void)by;
    return a;
}

static inline kibi_fft_scalar kibi_fft_half(kibi_fft_scalar a)
{
    return a * 0.5f;
}

static inline kibi_fft_scalar kibi_fft_half_sum(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return (a + b) * 0.5f;
}

static inline kibi_fft_scalar kibi_fft_half_difference(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return (a - b) * 0.5f;
}

#define KIBI_FFT_SCALAR float
#include "kibi_fft.h"

#endif
