/* One float divided by another, as IEEE 754 rounds it: to the nearest, and to the even one of two as near. */
#ifndef KIBI_QUOTIENT_F32_H
#define KIBI_QUOTIENT_F32_H

#include "kibi.h"

/* True if clang calls a function to divide, because the processor has no instruction for it. The function that comes with zig
 * cuts quotients below 2**-126 where it should round them. That of GCC rounds. */
#if defined(__clang__) &&                                                                                             \
    (defined(__SOFTFP__) || (defined(__arm__) && !defined(__ARM_FP)) || (defined(__riscv) && !defined(__riscv_flen)) ||  \
     defined(__mips_soft_float) || defined(_SOFT_FLOAT))
#define KIBI_DIVIDES_BY_INTEGERS
#endif

/* All kernels that divide floats do it by this, even where no quotient is that small: then no other function is linked.
 * a, b: floats, any; a NaN gives a NaN, and so do 0/0 and infinity/infinity. */
#ifdef KIBI_DIVIDES_BY_INTEGERS

float kibi_quotient_f32(float a, float b);

#define KIBI_QUOTIENT(a, b) kibi_quotient_f32(a, b)

#else

/* No function, so that compilers make of it what they make of a division. */
#define KIBI_QUOTIENT(a, b) ((float)(a) / (float)(b))

#endif

#endif
