/* What kernels of floats rely on: every product and every sum is rounded to float, or to double, by itself. */
#ifndef KIBI_FLOAT_H
#define KIBI_FLOAT_H

#include "kibi.h"

#if defined(__FAST_MATH__)
#error "Kibi's sums of floats have an order: compile without -ffast-math"
#endif

/* Compilers may round a product and a sum as one where the processor can; -ffp-contract=off forbids it to all of them. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* The lowest finite number. */
#define KIBI_LOWEST_F32 (-3.402823466e+38f)

/* std::max, then std::min: a NaN stays, and so does the sign of a zero. */
static inline float kibi_clamp_f32(float value, float low, float high)
{
    const float raised = value < low ? low : value;
    return high < raised ? high : raised;
}

#endif
