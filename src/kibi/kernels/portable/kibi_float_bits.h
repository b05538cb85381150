/* Floats as the bits that IEEE 754 gives them, where C99 asks for a mathematical library. */
#ifndef KIBI_FLOAT_BITS_H
#define KIBI_FLOAT_BITS_H

#include "kibi.h"

#include <string.h>

static inline uint32_t kibi_bits_of_float(float value)
{
    uint32_t bits;
    (void)memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float kibi_float_of_bits(uint32_t bits)
{
    float value;
    (void)memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The largest integer that is not above the value; zeros, infinities and NaN stay what they are. */
static inline float kibi_floor(float value)
{
    /* From 2**23 on, and with an exponent of ones, there is no fraction. */
    if ((kibi_bits_of_float(value) & 0x7FFFFFFFu) >= 0x4B000000u || value == 0.0f) {
        return value;
    }
    const float whole = (float)(int32_t)value;
    return whole > value ? whole - 1.0f : whole;
}

#endif
