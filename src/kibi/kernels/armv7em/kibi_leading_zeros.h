/* How many bits above the highest one are 0, Armv7E-M: one instruction. */
#ifndef KIBI_LEADING_ZEROS_H
#define KIBI_LEADING_ZEROS_H

#include "kibi.h"

/* Of what is not 0. */
static inline int32_t kibi_leading_zeros(uint32_t value)
{
#ifdef __GNUC__
    return __builtin_clz(value);
#else
    int32_t count = 0;
    while ((value & 0x80000000u) == 0u) {
        value <<= 1;
        ++count;
    }
    return count;
#endif
}

#endif
