/* What kernels with Golomb-Rice codes share. */
#ifndef KIBI_RICE_CODES_H
#define KIBI_RICE_CODES_H

#include "kibi_dot_rice_s8.h"

/* The multiple of 2**k for each number of zeros. */
static const int8_t kibi_rice_multiples[KIBI_RICE_BITS] = {0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6};

/* Codes in so many bytes, at least four, from the bit of that number on; k is still to be set. */
static inline kibi_rice_codes kibi_rice_codes_at(const int8_t *stream, int32_t size, uint32_t at)
{
    kibi_rice_codes from;
    from.end = (const uint8_t *)stream + size;
    from.multiples = kibi_rice_multiples;
    from.at = at;
    from.last = 8u * (uint32_t)size - 25u;
    from.k = 0;
    return from;
}

/* The k of a channel with that coding. */
static inline uint32_t kibi_rice_k(uint32_t coding)
{
    uint32_t k = 0;
    while (coding >> k > 1u) {
        ++k;
    }
    return k;
}

#endif
