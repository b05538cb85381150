/* The memory of a filter of SVDF, Armv7E-M: the oldest result goes, the newest one comes, and all are weighted, by words. */
#ifndef KIBI_SVDF_MEMORY_H
#define KIBI_SVDF_MEMORY_H

#include "kibi_dsp.h"

/* A sum, plus the products of four weights and four results less their zero point. centre: -zero point in both halves. */
static inline int32_t kibi_weigh_four(int32_t sum, uint32_t weights, uint32_t results, uint32_t centre)
{
    uint32_t even_weights;
    uint32_t even_results;
    __asm__("sxtb16 %[ew], %[w]\n\t"
            "sxtab16 %[es], %[c], %[s]\n\t"
            "sxtb16 %[w], %[w], ror #8\n\t"
            "sxtab16 %[s], %[c], %[s], ror #8\n\t"
            "smlad %[sum], %[ew], %[es], %[sum]\n\t"
            "smlad %[sum], %[w], %[s], %[sum]"
            : [sum] "+r"(sum), [w] "+r"(weights), [s] "+r"(results), [ew] "=&r"(even_weights), [es] "=&r"(even_results)
            : [c] "r"(centre));
    return sum;
}

/* A sum, plus the products of `memory` weights and results less their zero point, after the newest one took the last place, and all
 * others moved one place forward. memory: at least 1. The sum wraps. */
static inline int32_t kibi_remember_s8(int32_t sum, int8_t *state, const int8_t *w, int32_t memory, int32_t zero_point,
                                       int32_t newest)
{
    const uint32_t centre = ((uint32_t)-zero_point & 0xFFFFu) * 0x10001u;
    const int8_t *const end = state + memory;
    uint32_t kept;
    uint32_t weights;
    while (end - state > 4) {
        __asm__ volatile("ldr %[kept], [%[state], #1]\n\t"
                         "ldr %[weights], [%[w]], #4\n\t"
                         "str %[kept], [%[state]], #4"
                         : [state] "+r"(state), [w] "+r"(w), [kept] "=&r"(kept), [weights] "=&r"(weights)
                         :
                         : "memory");
        sum = kibi_weigh_four(sum, weights, kept, centre);
    }
    if (end - state == 4) {
        __asm__ volatile("ldr %[kept], [%[state]]\n\t"
                         "ldr %[weights], [%[w]]\n\t"
                         "lsr %[kept], %[kept], #8\n\t"
                         "orr %[kept], %[kept], %[newest], lsl #24\n\t"
                         "str %[kept], [%[state]]"
                         : [kept] "=&r"(kept), [weights] "=&r"(weights)
                         : [state] "r"(state), [w] "r"(w), [newest] "r"(newest)
                         : "memory");
        return kibi_weigh_four(sum, weights, kept, centre);
    }
    uint32_t total = (uint32_t)sum;
    for (; state + 1 != end; ++state) {
        *state = state[1];
        total += (uint32_t)(*w++ * (*state - zero_point));
    }
    *state = (int8_t)newest;
    return (int32_t)(total + (uint32_t)(*w * (newest - zero_point)));
}

/* The same of 16 bits, without a zero point. */
static inline int32_t kibi_remember_s16(int32_t sum, int16_t *state, const int16_t *w, int32_t memory, int32_t newest)
{
    const int16_t *const end = state + memory;
    uint32_t kept;
    uint32_t weights;
    KIBI_UNROLL_TWICE
    while (end - state > 2) {
        __asm__ volatile("ldr %[kept], [%[state], #2]\n\t"
                         "ldr %[weights], [%[w]], #4\n\t"
                         "str %[kept], [%[state]], #4\n\t"
                         "smlad %[sum], %[kept], %[weights], %[sum]"
                         : [sum] "+r"(sum), [state] "+r"(state), [w] "+r"(w), [kept] "=&r"(kept), [weights] "=&r"(weights)
                         :
                         : "memory");
    }
    if (end - state == 2) {
        *state = state[1];
        sum = (int32_t)((uint32_t)sum + (uint32_t)(*w++ * *state++));
    }
    *state = (int16_t)newest;
    return (int32_t)((uint32_t)sum + (uint32_t)(*w * newest));
}

#endif
