/* Sums of products of 16-bit elements and 8-bit weights, Armv7E-M: SMLALD adds two products to 64 bits. */
#ifndef KIBI_DOT_S16_H
#define KIBI_DOT_S16_H

#include "kibi_dsp.h"

/* A sum, plus the products of `count` weights and elements, four at once. Weights widen in pairs (0, 2) and (1, 3), which are put in
 * the order of the elements. */
static inline int64_t kibi_dot_s16(int64_t sum, const int8_t *w, const int16_t *x, int32_t count)
{
    uint32_t low = (uint32_t)(uint64_t)sum;
    uint32_t high = (uint32_t)((uint64_t)sum >> 32);
    const int8_t *const end = w + count;
    const int8_t *const whole = w + (count & ~3);
    while (w != whole) {
        uint32_t pairs;
        uint32_t first;
        uint32_t second;
        __asm__("ldr %[first], [%[w]], #4\n\t"
                "sxtb16 %[pairs], %[first]\n\t"
                "sxtb16 %[second], %[first], ror #8\n\t"
                "pkhbt %[first], %[pairs], %[second], lsl #16\n\t"
                "pkhtb %[second], %[second], %[pairs], asr #16\n\t"
                "ldr %[pairs], [%[x]], #4\n\t"
                "smlald %[low], %[high], %[first], %[pairs]\n\t"
                "ldr %[pairs], [%[x]], #4\n\t"
                "smlald %[low], %[high], %[second], %[pairs]"
                : [low] "+r"(low), [high] "+r"(high), [w] "+r"(w), [x] "+r"(x), [pairs] "=&r"(pairs), [first] "=&r"(first),
                  [second] "=&r"(second)
                :
                : "memory");
    }
    while (w != end) {
        __asm__("smlal %0, %1, %2, %3" : "+r"(low), "+r"(high) : "r"((int32_t)*w++), "r"((int32_t)*x++));
    }
    return (int64_t)((uint64_t)high << 32 | low);
}

#endif
