/* Functions in 32-bit fixed point, for the tables that operators by hand prepare. A number r with n integer bits is r / 2**(31 - n).
 * Source of the rules: gemmlowp, fixedpoint/fixedpoint.h. */
#ifndef KIBI_FIXED_POINT_H
#define KIBI_FIXED_POINT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* exp(a) for a <= 0 with at most 5 integer bits; the result has none. */
int32_t kibi_exp_on_negative(int32_t a, int integer_bits);

/* 1 / (1 + exp(-a)) and the hyperbolic tangent, with 4 integer bits; the result has none. */
int32_t kibi_logistic_fixed(int32_t a);
int32_t kibi_tanh_fixed(int32_t a);

/* The square root of a positive number that is not far from what a float can be, rounded to nearest: in integers, without a library. */
double kibi_square_root_f64(double value);

#ifdef __cplusplus
}
#endif

#endif
