/* Weights of int4 that stay packed: how they are stored in words, and what all sums of products with them share.
 * Output channels come in blocks of four. A word has a block's weights w for two neighbouring elements, as w + 8 in four bits each:
 * a byte for channel 0, then for 2, 1 and 3, each with the first element's weight in its lower half. What is there for channels
 * after the last one, and for the element after an odd last one, has no effect.
 * Words for four elements, which some kernels have in place of these: two words for each four elements, the first one with the
 * weights for elements 0 and 2 in its lower and upper half, the second one for 1 and 3. A half has w + 8 of channels 0, 1 and 2,
 * each in four bits from the lowest on, then w of channel 3 with its sign. */
#ifndef KIBI_INT4_S8_H
#define KIBI_INT4_S8_H

#include "kibi.h"

/* Output channels of a block. */
enum { KIBI_INT4_CHANNELS = 4 };

/* Channels of a block where `left` ones are left. */
static inline int32_t kibi_int4_channels(int32_t left)
{
    return left < (int32_t)KIBI_INT4_CHANNELS ? left : (int32_t)KIBI_INT4_CHANNELS;
}

/* Words of a block's weights for `count` elements. */
static inline int32_t kibi_int4_words(int32_t count)
{
    return (count + 1) >> 1;
}

/* What sums of products with w + 8 are too high by: eight times the sum of `count` elements, at least one. */
static inline uint32_t kibi_int4_excess(const int8_t *x, int32_t count)
{
    const int8_t *const end = x + count;
    int32_t total = 0;
    KIBI_UNROLL_TWICE
    do {
        total += *x++;
    } while (x != end);
    return 8u * (uint32_t)total;
}

/* Writes what the sums of `count` channels start from, at least one, less what they will be too high by. */
static inline void kibi_int4_start(int32_t *sums, const int32_t *start, int32_t count, uint32_t excess)
{
    const int32_t *const end = start + count;
    do {
        *sums++ = (int32_t)((uint32_t)*start++ - excess);
    } while (start != end);
}

#endif
