/* Sums of products of int8 in the halves of words: a factor has two elements, the first plus 2**16 times the second, and its product
 * with a weight has both products. */
#ifndef KIBI_ADD_HALVES_S8_H
#define KIBI_ADD_HALVES_S8_H

#include "kibi.h"

/* Two elements in a word. */
static inline uint32_t kibi_both_halves(int32_t first, int32_t second)
{
    return (uint32_t)first + ((uint32_t)second << 16);
}

/* Adds the products of two channels' weights and the elements of one to three pairs of pixels to their sums, which wrap.
 * sums: [2 channels][pairs][2]. w: [count][4][2 channels]. x: [count][4][pairs]. count: groups of four elements, at least 1.
 * flags: the highest bit is the first group's, and so on. Where it is 0, the sums of four products fit 16 bits; in any case those of
 * the first two and of the last two do.
 * bias: what the sums of both channels start from; null: they start from what is in `sums`. */
void kibi_add_halves_s8(uint32_t *sums, const int8_t *w, const uint32_t *x, int32_t count, uint32_t flags, int32_t pairs,
                        const int32_t *bias);

#endif
