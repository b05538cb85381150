/* Elements of two scales that are brought to a common one. */
#ifndef KIBI_RESCALED_S32_H
#define KIBI_RESCALED_S32_H

#include "kibi_requantize.h"

/* value * multiplier / 2**31 / 2**-shift, rounded twice. multiplier: 0 … 2**31 - 1; shift: -31 … 0. */
static inline int32_t kibi_rescaled(int32_t value, int32_t multiplier, int32_t shift)
{
    return kibi_divide_by_power(kibi_multiply_high(value, multiplier), -shift);
}

#endif
