/* How many bits above the highest one are 0, Thumb-2: one instruction. */
#ifndef KIBI_LEADING_ZEROS_H
#define KIBI_LEADING_ZEROS_H

#include "kibi.h"

/* Of what is not 0. */
static inline int32_t kibi_leading_zeros(uint32_t value)
{
    return __builtin_clz(value);
}

#endif
