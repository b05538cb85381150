/* exp(x) - 1 of floats, portable. Source of the rule: glibc, ieee754/flt-32/s_expm1f.c. */
#include "kibi_expm1_f32.h"

#include "kibi_float.h"
#include "kibi_float_bits.h"
#include "kibi_quotient_f32.h"

/* 2**exponent. exponent: -126 … 127. */
static float power_of_two(int32_t exponent)
{
    return kibi_float_of_bits((uint32_t)(exponent + 127) << 23);
}

/* 2**k * (1 + x - e) - 1. k: -27 … 64, not 0. */
static float scaled(int32_t k, float x, float e)
{
    if (k == -1) {
        return 0.5f * (x - e) - 0.5f;
    }
    if (k == 1) {
        return x < -0.25f ? -2.0f * (e - (x + 0.5f)) : 1.0f + 2.0f * (x - e);
    }
    if (k < 0 || k > 56) {
        return (1.0f - (e - x)) * power_of_two(k) - 1.0f;
    }
    if (k < 23) {
        return ((1.0f - power_of_two(-k)) - (e - x)) * power_of_two(k);
    }
    return ((x - (e + power_of_two(-k))) + 1.0f) * power_of_two(k);
}

float kibi_expm1_f32(float value)
{
    const uint32_t magnitude = kibi_bits_of_float(value) & 0x7FFFFFFFu;
    float x = value;
    float lost = 0.0f;
    int32_t k = 0;
    if (value <= -18.714973449707031f) {
        return -1.0f;
    }
    if (magnitude < 0x33000000u || value != value) { /* 2**-25 */
        return value;
    }
    KIBI_ASSERT(value <= 44.0f);
    if (magnitude > 0x3EB17218u) { /* half of ln 2 */
        const float sign = value < 0.0f ? -1.0f : 1.0f;
        /* One, below 1.5 * ln 2; rounded half away from zero. */
        k = magnitude < 0x3F851592u ? (int32_t)sign : (int32_t)(1.4426950216f * value + 0.5f * sign);
        const float high = value - (float)k * 0.69313812256f;
        const float low = (float)k * 9.0580006145e-06f;
        x = high - low;
        lost = (high - x) - low;
    }
    const float half = 0.5f * x;
    const float square = x * half;
    const float inner = -7.9365076090e-05f + square * (4.0082177293e-06f + square * -2.0109921195e-07f);
    const float r = 1.0f + square * (-3.3333335072e-02f + square * (1.5873016091e-03f + square * inner));
    const float t = 3.0f - r * half;
    const float e = square * KIBI_QUOTIENT(r - t, 6.0f - x * t);
    return k == 0 ? x - (x * e - square) : scaled(k, x, (x * (e - lost) - lost) - square);
}
