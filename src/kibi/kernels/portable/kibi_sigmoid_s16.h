/* The logistic function and the hyperbolic tangent in 16 bits: rule N43 of Kibi's numerics. */
#ifndef KIBI_SIGMOID_S16_H
#define KIBI_SIGMOID_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The logistic function of value / (3 * 2**12), in units of 2**-15: 0 … 32767. value: above -2**31. */
int16_t kibi_sigmoid_s16(int32_t value);

/* The hyperbolic tangent of value / (3 * 2**12), in units of 2**-15. value: above -2**31. */
int16_t kibi_tanh_s16(int32_t value);

/* An element as these functions take it: element * multiplier / 2**shift, rounded half up. The product is below 2**31 in
 * magnitude. shift: 0 … 15. */
static inline int32_t kibi_sigmoid_argument(int32_t element, int32_t multiplier, int32_t shift)
{
    return (element * multiplier + (int32_t)(((uint32_t)1 << shift) >> 1)) >> shift;
}

#ifdef __cplusplus
}
#endif

#endif
