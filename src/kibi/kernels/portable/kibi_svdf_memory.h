/* The memory of a filter of SVDF: the oldest result goes, the newest one comes, and all are weighted, in one pass. */
#ifndef KIBI_SVDF_MEMORY_H
#define KIBI_SVDF_MEMORY_H

#include "kibi.h"

/* A sum, plus the products of `memory` weights and results less their zero point, after the newest one took the last place, and all
 * others moved one place forward. memory: at least 1. The sum wraps. */
static inline int32_t kibi_remember_s8(int32_t sum, int8_t *state, const int8_t *w, int32_t memory, int32_t zero_point,
                                       int32_t newest)
{
    uint32_t total = (uint32_t)sum;
    for (int32_t i = 0; i + 1 < memory; ++i) {
        const int8_t kept = state[i + 1];
        state[i] = kept;
        total += (uint32_t)(w[i] * (kept - zero_point));
    }
    state[memory - 1] = (int8_t)newest;
    return (int32_t)(total + (uint32_t)(w[memory - 1] * (newest - zero_point)));
}

/* The same of 16 bits, without a zero point. */
static inline int32_t kibi_remember_s16(int32_t sum, int16_t *state, const int16_t *w, int32_t memory, int32_t newest)
{
    uint32_t total = (uint32_t)sum;
    for (int32_t i = 0; i + 1 < memory; ++i) {
        const int16_t kept = state[i + 1];
        state[i] = kept;
        total += (uint32_t)(w[i] * kept);
    }
    state[memory - 1] = (int16_t)newest;
    return (int32_t)(total + (uint32_t)(w[memory - 1] * newest));
}

#endif
