/* Transforms of real numbers by a complex one of half as many (rules N41 to N42). The header of a type includes this one after
 * its arithmetic; alone it is of int16. */
#ifndef KIBI_FFT_SCALAR
#include "kibi_fft_s16.h"
#endif
#ifndef KIBI_FFT_H
#define KIBI_FFT_H

/* A transform of n complex numbers. */
typedef struct {
    int32_t points;                   /* n */
    int32_t stage_count;
    const int32_t *stages;            /* [stage_count][2]: the radix, 2 to 5, and points of each of its parts */
    const kibi_fft_scalar *twiddles;  /* [n][2]: the roots of unity */
    const kibi_fft_scalar *half_turn; /* [n / 2][2]: what makes real spectra of complex ones, from 1 on */
} kibi_fft_plan;

typedef struct {
    kibi_fft_scalar r;
    kibi_fft_scalar i;
} kibi_fft_complex;

static inline kibi_fft_complex kibi_fft_load(const kibi_fft_scalar *data, int32_t k)
{
    kibi_fft_complex value;
    value.r = data[2 * k];
    value.i = data[2 * k + 1];
    return value;
}

static inline void kibi_fft_store(kibi_fft_scalar *data, int32_t k, kibi_fft_complex value)
{
    data[2 * k] = value.r;
    data[2 * k + 1] = value.i;
}

static inline kibi_fft_complex kibi_fft_plus(kibi_fft_complex a, kibi_fft_complex b)
{
    a.r = kibi_fft_sum(a.r, b.r);
    a.i = kibi_fft_sum(a.i, b.i);
    return a;
}

static inline kibi_fft_complex kibi_fft_minus(kibi_fft_complex a, kibi_fft_complex b)
{
    a.r = kibi_fft_difference(a.r, b.r);
    a.i = kibi_fft_difference(a.i, b.i);
    return a;
}

static inline kibi_fft_complex kibi_fft_times(kibi_fft_complex a, kibi_fft_complex b)
{
    kibi_fft_complex value;
    value.r = kibi_fft_crossed(a.r, b.r, a.i, b.i);
    value.i = kibi_fft_products(a.r, b.i, a.i, b.r);
    return value;
}

/* An element, divided by what keeps sums of as many from growing. */
static inline kibi_fft_complex kibi_fft_part(const kibi_fft_scalar *data, int32_t k, int32_t by)
{
    kibi_fft_complex value = kibi_fft_load(data, k);
    value.r = kibi_fft_quotient(value.r, by);
    value.i = kibi_fft_quotient(value.i, by);
    return value;
}

/* The same, turned. */
static inline kibi_fft_complex kibi_fft_turned(
    const kibi_fft_scalar *data, int32_t k, int32_t by, const kibi_fft_scalar *twiddles, int32_t turn)
{
    return kibi_fft_times(kibi_fft_part(data, k, by), kibi_fft_load(twiddles, turn));
}

/* a - i * b, or a + i * b. */
static inline kibi_fft_complex kibi_fft_quarter(kibi_fft_complex a, kibi_fft_complex b, int32_t is_plus)
{
    kibi_fft_complex value;
    value.r = is_plus ? kibi_fft_difference(a.r, b.i) : kibi_fft_sum(a.r, b.i);
    value.i = is_plus ? kibi_fft_sum(a.i, b.r) : kibi_fft_difference(a.i, b.r);
    return value;
}

static inline void kibi_fft_two(kibi_fft_scalar *data, int32_t m, const kibi_fft_scalar *twiddles, int32_t turn)
{
    const kibi_fft_complex a = kibi_fft_part(data, 0, 2);
    const kibi_fft_complex b = kibi_fft_turned(data, m, 2, twiddles, turn);
    kibi_fft_store(data, m, kibi_fft_minus(a, b));
    kibi_fft_store(data, 0, kibi_fft_plus(a, b));
}

static inline void kibi_fft_four(
    kibi_fft_scalar *data, int32_t m, const kibi_fft_scalar *twiddles, int32_t turn, int32_t is_inverse)
{
    const kibi_fft_complex a = kibi_fft_part(data, 0, 4);
    const kibi_fft_complex b = kibi_fft_turned(data, m, 4, twiddles, turn);
    const kibi_fft_complex c = kibi_fft_turned(data, 2 * m, 4, twiddles, 2 * turn);
    const kibi_fft_complex d = kibi_fft_turned(data, 3 * m, 4, twiddles, 3 * turn);
    const kibi_fft_complex even = kibi_fft_plus(a, c);
    const kibi_fft_complex even_difference = kibi_fft_minus(a, c);
    const kibi_fft_complex odd = kibi_fft_plus(b, d);
    const kibi_fft_complex odd_difference = kibi_fft_minus(b, d);
    kibi_fft_store(data, 0, kibi_fft_plus(even, odd));
    kibi_fft_store(data, m, kibi_fft_quarter(even_difference, odd_difference, is_inverse));
    kibi_fft_store(data, 2 * m, kibi_fft_minus(even, odd));
    kibi_fft_store(data, 3 * m, kibi_fft_quarter(even_difference, odd_difference, !is_inverse));
}

/* third: the sine of a third of a turn. */
static inline void kibi_fft_three(
    kibi_fft_scalar *data, int32_t m, const kibi_fft_scalar *twiddles, int32_t turn, kibi_fft_scalar third)
{
    const kibi_fft_complex a = kibi_fft_part(data, 0, 3);
    const kibi_fft_complex b = kibi_fft_turned(data, m, 3, twiddles, turn);
    const kibi_fft_complex c = kibi_fft_turned(data, 2 * m, 3, twiddles, 2 * turn);
    const kibi_fft_complex sum = kibi_fft_plus(b, c);
    kibi_fft_complex side = kibi_fft_minus(b, c);
    kibi_fft_complex middle;
    middle.r = kibi_fft_difference(a.r, kibi_fft_half(sum.r));
    middle.i = kibi_fft_difference(a.i, kibi_fft_half(sum.i));
    side.r = kibi_fft_product(side.r, third);
    side.i = kibi_fft_product(side.i, third);
    kibi_fft_store(data, 0, kibi_fft_plus(a, sum));
    kibi_fft_store(data, m, kibi_fft_quarter(middle, side, 1));
    kibi_fft_store(data, 2 * m, kibi_fft_quarter(middle, side, 0));
}

/* a + b * near + c * far, for the real parts of roots of unity. */
static inline kibi_fft_complex kibi_fft_along(
    kibi_fft_complex a, kibi_fft_complex b, kibi_fft_scalar near, kibi_fft_complex c, kibi_fft_scalar far)
{
    kibi_fft_complex value;
    value.r = kibi_fft_sum(kibi_fft_sum(a.r, kibi_fft_product(b.r, near)), kibi_fft_product(c.r, far));
    value.i = kibi_fft_sum(kibi_fft_sum(a.i, kibi_fft_product(b.i, near)), kibi_fft_product(c.i, far));
    return value;
}

/* fifths: a fifth of a turn, then two fifths. */
static inline void kibi_fft_five(
    kibi_fft_scalar *data, int32_t m, const kibi_fft_scalar *twiddles, int32_t turn, const kibi_fft_complex *fifths)
{
    const kibi_fft_complex a = kibi_fft_part(data, 0, 5);
    const kibi_fft_complex b = kibi_fft_turned(data, m, 5, twiddles, turn);
    const kibi_fft_complex c = kibi_fft_turned(data, 2 * m, 5, twiddles, 2 * turn);
    const kibi_fft_complex d = kibi_fft_turned(data, 3 * m, 5, twiddles, 3 * turn);
    const kibi_fft_complex e = kibi_fft_turned(data, 4 * m, 5, twiddles, 4 * turn);
    const kibi_fft_complex outer = kibi_fft_plus(b, e);
    const kibi_fft_complex outer_side = kibi_fft_minus(b, e);
    const kibi_fft_complex inner = kibi_fft_plus(c, d);
    const kibi_fft_complex inner_side = kibi_fft_minus(c, d);
    const kibi_fft_scalar one = fifths[0].i;
    const kibi_fft_scalar two = fifths[1].i;
    const kibi_fft_complex near = kibi_fft_along(a, outer, fifths[0].r, inner, fifths[1].r);
    const kibi_fft_complex far = kibi_fft_along(a, outer, fifths[1].r, inner, fifths[0].r);
    kibi_fft_complex near_side;
    kibi_fft_complex far_side;
    /* Of -i times the imaginary parts; the negative of a product is not the product of a negative. */
    near_side.r = kibi_fft_sum(kibi_fft_product(outer_side.i, one), kibi_fft_product(inner_side.i, two));
    near_side.i = kibi_fft_difference(
        kibi_fft_negative(kibi_fft_product(outer_side.r, one)), kibi_fft_product(inner_side.r, two));
    far_side.r = kibi_fft_difference(kibi_fft_product(inner_side.i, one), kibi_fft_product(outer_side.i, two));
    far_side.i = kibi_fft_difference(kibi_fft_product(outer_side.r, two), kibi_fft_product(inner_side.r, one));
    kibi_fft_store(data, 0, kibi_fft_plus(a, kibi_fft_plus(outer, inner)));
    kibi_fft_store(data, m, kibi_fft_minus(near, near_side));
    kibi_fft_store(data, 2 * m, kibi_fft_plus(far, far_side));
    kibi_fft_store(data, 3 * m, kibi_fft_minus(far, far_side));
    kibi_fft_store(data, 4 * m, kibi_fft_plus(near, near_side));
}

/* One part of a stage: `radix` transforms of m points, one after another, become one. */
static inline void kibi_fft_join(
    kibi_fft_scalar *data, int32_t radix, int32_t m, const kibi_fft_scalar *twiddles, int32_t stride, int32_t is_inverse)
{
    kibi_fft_complex roots[2];
    roots[0] = kibi_fft_load(twiddles, stride * m);
    roots[1] = kibi_fft_load(twiddles, radix == 5 ? 2 * stride * m : 0);
    for (int32_t u = 0; u < m; ++u) {
        kibi_fft_scalar *const place = data + 2 * u;
        if (radix == 4) {
            kibi_fft_four(place, m, twiddles, stride * u, is_inverse);
        } else if (radix == 2) {
            kibi_fft_two(place, m, twiddles, stride * u);
        } else if (radix == 3) {
            kibi_fft_three(place, m, twiddles, stride * u, roots[0].i);
        } else {
            kibi_fft_five(place, m, twiddles, stride * u, roots);
        }
    }
}

/* Where element k is before the first stage. */
static inline int32_t kibi_fft_place(const kibi_fft_plan *plan, int32_t k)
{
    int32_t place = 0;
    for (int32_t stage = 0; stage < plan->stage_count; ++stage) {
        const int32_t radix = plan->stages[2 * stage];
        place += k % radix * plan->stages[2 * stage + 1];
        k /= radix;
    }
    return place;
}

/* The transform, in place. */
static inline void kibi_fft_transform(kibi_fft_scalar *data, const kibi_fft_plan *plan, int32_t is_inverse)
{
    for (int32_t stage = plan->stage_count - 1; stage >= 0; --stage) {
        const int32_t radix = plan->stages[2 * stage];
        const int32_t m = plan->stages[2 * stage + 1];
        const int32_t stride = plan->points / (radix * m);
        for (int32_t part = 0; part < stride; ++part) {
            kibi_fft_join(data + 2 * part * radix * m, radix, m, plan->twiddles, stride, is_inverse);
        }
    }
}

/* The spectrum [n + 1][2] of 2 * n real numbers, of which the last ones are 0. */
static inline void kibi_fft_forward(
    kibi_fft_scalar *output, const kibi_fft_scalar *input, int32_t elements, const kibi_fft_plan *plan)
{
    const int32_t n = plan->points;
    kibi_fft_complex first;
    for (int32_t k = 0; k < n; ++k) {
        kibi_fft_complex value;
        value.r = 2 * k < elements ? input[2 * k] : 0;
        value.i = 2 * k + 1 < elements ? input[2 * k + 1] : 0;
        kibi_fft_store(output, kibi_fft_place(plan, k), value);
    }
    kibi_fft_transform(output, plan, 0);
    first = kibi_fft_part(output, 0, 2);
    output[0] = kibi_fft_sum(first.r, first.i);
    output[1] = 0;
    output[2 * n] = kibi_fft_difference(first.r, first.i);
    output[2 * n + 1] = 0;
    for (int32_t k = 1; k <= n / 2; ++k) {
        const kibi_fft_complex a = kibi_fft_part(output, k, 2);
        kibi_fft_complex b = kibi_fft_load(output, n - k);
        kibi_fft_complex sum;
        kibi_fft_complex turned;
        b.i = kibi_fft_negative(b.i);
        b.r = kibi_fft_quotient(b.r, 2);
        b.i = kibi_fft_quotient(b.i, 2);
        sum = kibi_fft_plus(a, b);
        turned = kibi_fft_times(kibi_fft_minus(a, b), kibi_fft_load(plan->half_turn, k - 1));
        output[2 * k] = kibi_fft_half_sum(sum.r, turned.r);
        output[2 * k + 1] = kibi_fft_half_sum(sum.i, turned.i);
        output[2 * (n - k)] = kibi_fft_half_difference(sum.r, turned.r);
        output[2 * (n - k) + 1] = kibi_fft_half_difference(turned.i, sum.i);
    }
}

/* The 2 * n real numbers of a spectrum [n + 1][2]. */
static inline void kibi_fft_backward(kibi_fft_scalar *output, const kibi_fft_scalar *input, const kibi_fft_plan *plan)
{
    const int32_t n = plan->points;
    output[0] = kibi_fft_quotient(kibi_fft_sum(input[0], input[2 * n]), 2);
    output[1] = kibi_fft_quotient(kibi_fft_difference(input[0], input[2 * n]), 2);
    for (int32_t k = 1; k <= n / 2; ++k) {
        const kibi_fft_complex a = kibi_fft_part(input, k, 2);
        kibi_fft_complex b = kibi_fft_load(input, n - k);
        kibi_fft_complex sum;
        kibi_fft_complex turned;
        kibi_fft_complex mirrored;
        b.i = kibi_fft_negative(b.i);
        b.r = kibi_fft_quotient(b.r, 2);
        b.i = kibi_fft_quotient(b.i, 2);
        sum = kibi_fft_plus(a, b);
        turned = kibi_fft_times(kibi_fft_minus(a, b), kibi_fft_load(plan->half_turn, k - 1));
        mirrored = kibi_fft_minus(sum, turned);
        mirrored.i = kibi_fft_negative(mirrored.i);
        kibi_fft_store(output, kibi_fft_place(plan, k), kibi_fft_plus(sum, turned));
        kibi_fft_store(output, kibi_fft_place(plan, n - k), mirrored);
    }
    kibi_fft_transform(output, plan, 1);
}

#endif
