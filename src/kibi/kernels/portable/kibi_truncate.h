/* Floats as integers, saturating, without undefined behaviour. */
#ifndef KIBI_TRUNCATE_H
#define KIBI_TRUNCATE_H

#include "kibi.h"

/* What is before the point, cut to low … high; 0 for NaN. */
static inline int32_t kibi_truncate(float value, int32_t low, int32_t high)
{
    if (value != value) {
        return 0;
    }
    if (value <= (float)low) {
        return low;
    }
    return value >= (float)high ? high : (int32_t)value;
}

/* What is before the point, cut to 0 … UINT32_MAX; 0 for NaN. */
static inline uint32_t kibi_truncate_u32(float value)
{
    if (!(value > 0.0f)) {
        return 0;
    }
    return value >= 4294967296.0f ? UINT32_MAX : (uint32_t)value;
}

#endif
