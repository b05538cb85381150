/* Weights in packed pairs, so that cores with the DSP extension widen each word once. */
#ifndef KIBI_PACKED_PAIRS_S8_H
#define KIBI_PACKED_PAIRS_S8_H

#include "kibi.h"

/* Adds 256 times two elements times their weights, and 127 times the second one: what both instructions of such a core add.
 * half: 256 * the first weight + the second. */
static inline uint32_t kibi_add_packed_pair_s8(uint32_t sum, uint32_t half, int32_t x0, int32_t x1)
{
    const int32_t both = (int32_t)(half & 0x7FFFu) - (int32_t)(half & 0x8000u);
    const int32_t second = (int32_t)(half & 0x7Fu) - (int32_t)(half & 0x80u);
    return sum + (uint32_t)(both * x0 + second * (256 * x1 - x0 + 127));
}

/* The same of up to four elements and a word of two halves; zeros replace what is after the last. */
static inline uint32_t kibi_add_word_s8(uint32_t sum, int32_t word, const int8_t *x, int32_t count)
{
    sum = kibi_add_packed_pair_s8(sum, (uint32_t)word, x[0], count > 1 ? x[1] : 0);
    return kibi_add_packed_pair_s8(sum, (uint32_t)word >> 16, count > 2 ? x[2] : 0, count > 3 ? x[3] : 0);
}

#endif
