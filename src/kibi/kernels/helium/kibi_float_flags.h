/* How kernels find out that vectors of floats met denormal numbers. Instructions of vectors take them for zero, as operands and as results,
 * and raise flags that stay until they are cleared. So a block of outputs with these flags is computed once more, by other instructions. */
#ifndef KIBI_FLOAT_FLAGS_H
#define KIBI_FLOAT_FLAGS_H

#include "kibi_float.h"

#if !defined(__ARM_FEATURE_MVE) || !(__ARM_FEATURE_MVE & 2) || !defined(__thumb2__)
#error "this file is for cores with MVE of floats"
#endif

/* The least number above 0 that is not denormal. */
#define KIBI_LEAST_NORMAL_F32 1.17549435e-38f

/* Text of assembly: clears the flags of denormal operands and of results. Changes the register. */
#define KIBI_CLEAR_DENORMAL_FLAGS(free)     \
    "vmrs " free ", fpscr\n"                \
    "bic " free ", " free ", #0x88\n"       \
    "vmsr fpscr, " free "\n"

/* Text of assembly: not equal, if one of them was raised. Changes the register. */
#define KIBI_READ_DENORMAL_FLAGS(free)      \
    "vmrs " free ", fpscr\n"                \
    "tst " free ", #0x88\n"

/* The flags that are raised. */
static inline uint32_t kibi_float_flags(void)
{
    uint32_t state;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(state));
    return state & 0x88u;
}

/* Raises flags once more, which a program may ask for after it. */
static inline void kibi_raise_float_flags(uint32_t flags)
{
    uint32_t state;
    if (flags != 0u) {
        __asm__ volatile("vmrs %0, fpscr" : "=r"(state));
        state |= flags;
        __asm__ volatile("vmsr fpscr, %0" : : "r"(state));
    }
}

#endif
