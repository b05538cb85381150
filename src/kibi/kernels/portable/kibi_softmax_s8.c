/* SOFTMAX, int8, portable. Source of the rule: TFLM, reference/softmax.h, and gemmlowp, fixedpoint.h. */
#include "kibi_softmax_s8.h"

#include "kibi_requantize.h"

/* Sums of exponentials have this many integer bits. */
enum { SUM_BITS = 12 };

/* value * 2**bits, cut to the range of int32_t. */
static int32_t shift_left_saturating(int32_t value, int32_t bits)
{
    const int64_t shifted = (int64_t)value * ((int64_t)1 << bits);
    return (int32_t)(shifted > INT32_MAX ? INT32_MAX : (shifted < INT32_MIN ? INT32_MIN : shifted));
}

/* The high 32 bits of 2 * a * b, rounded half up; neither is -2**31. */
static int32_t multiply(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* 1 / (1 + a) for 0 <= a < 1, both Q0.31: three Newton steps in Q2.29 on half the denominator. */
static int32_t one_over_one_plus(int32_t a)
{
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + multiply(half, -1010580540); /* 48/17 - 32/17 * half */
    for (int step = 0; step < 3; ++step) {
        const int32_t error = ((int32_t)1 << 29) - multiply(half, x);
        x = kibi_wrapping_add(x, shift_left_saturating(multiply(x, error), 2));
    }
    return shift_left_saturating(x, 1);
}

static int32_t leading_zeros(uint32_t value)
{
    int32_t count = 0;
    while ((value & 0x80000000u) == 0u) {
        value <<= 1;
        ++count;
    }
    return count;
}

static void one_vector(int8_t *output, const int8_t *input, const kibi_softmax_s8_params *p)
{
    int32_t largest = input[0];
    for (int32_t i = 1; i < p->depth; ++i) {
        largest = input[i] > largest ? input[i] : largest;
    }
    int32_t sum = 0;
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t difference = largest - input[i];
        if (difference < p->differences) {
            sum += kibi_divide_by_power(p->exponentials[difference], SUM_BITS);
        }
    }
    const int32_t headroom = leading_zeros((uint32_t)sum);
    const int32_t scale = one_over_one_plus((int32_t)(((uint32_t)sum << headroom) - 0x80000000u));
    const int32_t exponent = SUM_BITS - headroom + 31 - 8;
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t difference = largest - input[i];
        int32_t value = -128;
        if (difference < p->differences) {
            value += kibi_divide_by_power(multiply(scale, p->exponentials[difference]), exponent);
        }
        output[i] = (int8_t)kibi_clamp(value, -128, 127);
    }
}

void kibi_softmax_s8(int8_t *output, const int8_t *const *rows, const kibi_softmax_s8_params *params, void *scratch)
{
    const int8_t *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < params->vectors; ++vector) {
        one_vector(output, input, params);
        output += params->depth;
        input += params->depth;
    }
}
