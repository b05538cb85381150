/* How many bits above the highest one are 0. */
#ifndef KIBI_LEADING_ZEROS_H
#define KIBI_LEADING_ZEROS_H

#include "kibi.h"

/* Of what is not 0. */
static inline int32_t kibi_leading_zeros(uint32_t value)
{
    int32_t count = 0;
    while ((value & 0x80000000u) == 0u) {
        value <<= 1;
        ++count;
    }
    return count;
}

#endif
