/* Four signed bytes at once: maxima. */
#ifndef KIBI_LARGEST4_H
#define KIBI_LARGEST4_H

#include <string.h>

#include "kibi.h"

/* Of each byte the larger. */
static inline uint32_t kibi_largest4(uint32_t a, uint32_t b)
{
    uint32_t largest;
    __asm__("ssub8 %0, %1, %2\n\t"
            "sel %0, %1, %2"
            : "=&r"(largest)
            : "r"(a), "r"(b)
            : "cc");
    return largest;
}

/* Four bytes at any address. */
static inline uint32_t kibi_load4(const int8_t *bytes)
{
    uint32_t word;
    (void)memcpy(&word, bytes, sizeof(word));
    return word;
}

#endif
