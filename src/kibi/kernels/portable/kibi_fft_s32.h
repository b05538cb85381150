/* The arithmetic of transforms of int32: 31 bits after the point; sums wrap, products are rounded (rule N41). */
#ifndef KIBI_FFT_S32_H
#define KIBI_FFT_S32_H

#include "kibi.h"

typedef int32_t kibi_fft_scalar;

static inline kibi_fft_scalar kibi_fft_rounded(int64_t product)
{
    return (kibi_fft_scalar)((product + (1 << 30)) >> 31);
}

static inline kibi_fft_scalar kibi_fft_sum(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return (kibi_fft_scalar)((uint32_t)a + (uint32_t)b);
}

static inline kibi_fft_scalar kibi_fft_difference(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return (kibi_fft_scalar)((uint32_t)a - (uint32_t)b);
}

static inline kibi_fft_scalar kibi_fft_negative(kibi_fft_scalar a)
{
    return (kibi_fft_scalar)(0u - (uint32_t)a);
}

static inline kibi_fft_scalar kibi_fft_product(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return kibi_fft_rounded((int64_t)a * b);
}

/* a * b + c * d, and a * b - c * d, rounded once. */
static inline kibi_fft_scalar kibi_fft_products(kibi_fft_scalar a, kibi_fft_scalar b, kibi_fft_scalar c, kibi_fft_scalar d)
{
    return kibi_fft_rounded((int64_t)a * b + (int64_t)c * d);
}

static inline kibi_fft_scalar kibi_fft_crossed(kibi_fft_scalar a, kibi_fft_scalar b, kibi_fft_scalar c, kibi_fft_scalar d)
{
    return kibi_fft_rounded((int64_t)a * b - (int64_t)c * d);
}

/* a / by, by the nearest fraction below 1 / by. */
static inline kibi_fft_scalar kibi_fft_quotient(kibi_fft_scalar a, int32_t by)
{
    return kibi_fft_rounded((int64_t)a * (INT32_MAX / by));
}

static inline kibi_fft_scalar kibi_fft_half(kibi_fft_scalar a)
{
    return a >> 1;
}

static inline kibi_fft_scalar kibi_fft_half_sum(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return kibi_fft_sum(a, b) >> 1;
}

static inline kibi_fft_scalar kibi_fft_half_difference(kibi_fft_scalar a, kibi_fft_scalar b)
{
    return kibi_fft_difference(a, b) >> 1;
}

#define KIBI_FFT_SCALAR int32_t
#include "kibi_fft.h"

#endif
