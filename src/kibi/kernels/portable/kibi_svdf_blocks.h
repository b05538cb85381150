/* Blocks of four units of SVDF from packed weights: what memories of int8 and of int16 share. */
#ifndef KIBI_SVDF_BLOCKS_H
#define KIBI_SVDF_BLOCKS_H

#include "kibi_svdf.h"

enum { KIBI_SVDF_BLOCK = 4 };

/* The lowest byte of a word, with its sign. */
static inline int32_t kibi_svdf_low_byte(uint32_t word)
{
    return (int32_t)(word & 0x7Fu) - (int32_t)(word & 0x80u);
}

/* A sum, plus 256 times the products of up to four elements and the weights in a word. */
static inline uint32_t kibi_svdf_add_word(uint32_t sum, uint32_t word, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count && k < 4; ++k) {
        sum += 256u * (uint32_t)(kibi_svdf_low_byte(word >> 8 * k) * x[k]);
    }
    return sum;
}

/* The same of packed pairs: a half is 256 times the first of two weights, plus the second one, of which 127 is added, too. */
static inline uint32_t kibi_svdf_add_pairs(uint32_t sum, uint32_t word, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count && k < 4; k += 2) {
        const uint32_t half = word >> 8 * k;
        const int32_t second = kibi_svdf_low_byte(half);
        const int32_t first = kibi_svdf_low_byte((half - (uint32_t)second) >> 8);
        sum += 256u * (uint32_t)(first * x[k]) + 127u * (uint32_t)second;
        sum += k + 1 < count ? 256u * (uint32_t)(second * x[k + 1]) : 0u;
    }
    return sum;
}

/* The same in the form that a block has. */
static inline uint32_t kibi_svdf_add_four(int32_t form, uint32_t sum, uint32_t word, const int8_t *x, int32_t count)
{
    return (form & 1) == 0 ? kibi_svdf_add_pairs(sum, word, x, count) : kibi_svdf_add_word(sum, word, x, count);
}

/* The sums of four filters over the `depth` elements of the input, times 256. Returns the next word. */
static inline const int32_t *kibi_svdf_filter_sums(uint32_t sums[KIBI_SVDF_BLOCK], const int32_t *from, const int8_t *x, int32_t depth)
{
    const int32_t whole = depth - depth % 4;
    int32_t form;
    for (int32_t o = 0; o < KIBI_SVDF_BLOCK; ++o) {
        sums[o] = (uint32_t)*from++;
    }
    form = *from++;
    for (int32_t o = 0; whole < depth && o < KIBI_SVDF_BLOCK; ++o) {
        sums[o] = kibi_svdf_add_four(form, sums[o], (uint32_t)*from++, x + whole, depth - whole);
    }
    for (int32_t k = 0; k < whole; k += 4) {
        for (int32_t o = 0; o < KIBI_SVDF_BLOCK; ++o) {
            sums[o] = kibi_svdf_add_four(form, sums[o], (uint32_t)*from++, x + k, 4);
        }
    }
    return from;
}

#endif
