/* Eight output channels at once, of all elements of a vector or of those that are not zero. Functions of their own, so that their
 * loops have all registers. */
#ifndef KIBI_NONZERO_SUMS_S8_H
#define KIBI_NONZERO_SUMS_S8_H

#include "kibi.h"

enum { KIBI_NONZERO_CHANNELS = 8, KIBI_NONZERO_SUMS = 4, KIBI_NONZERO_STEP = 8, KIBI_NONZERO_LAST = 128 };

/* What a vector's elements add up to, each 128 higher than it is, and how many of them are zero then. */
typedef struct {
    uint32_t total;
    uint32_t zeros;
} kibi_nonzero_counts;

/* The blocks of a layer. A word of 32 bits has the weights of one element for four channels, each 128 higher than it is, so that no
 * byte has a sign. Four channels have two sums of 64 bits: one of the words times the elements, and one of the words' bytes 2 and 1,
 * the second one 2**24 times. */
typedef struct {
    const int64_t *filter;   /* of the next block: what its four sums start from, then the weights of each element */
    /* Without gaps: the elements, 128 higher than they are, which are `count`. With gaps: pairs of bytes, of which `count` follow the
     * first: how many bytes further the weights of the next element are, KIBI_NONZERO_LAST of the last one; and the element's value.
     * The first pair is of the place before the first element. */
    const uint8_t *elements;
    const int32_t *scales;   /* of the next two channels, as of kibi_fully_connected_s8_nonzero */
    int8_t *output;
    int32_t block_bytes;     /* from one block to the next */
    int32_t blocks;          /* at least 1 */
    int32_t scale_step;
    int32_t rounding;        /* twice the output's zero point, plus 1 */
    int32_t more;            /* what each channel's sum needs besides: at most 0, as weights are 128 higher */
    int32_t count;           /* at least 1 */
    int32_t has_gaps;
} kibi_nonzero_sums;

/* Writes `count` elements, each 128 higher than it is, and counts them. */
void kibi_nonzero_raise_s8(uint8_t *to, const int8_t *from, int32_t count, kibi_nonzero_counts *counts);

/* Writes the pairs of the elements that are not zero, and of a few that are where runs of zeros are long; `count` becomes how many
 * follow the first. `words` has four elements of a vector each, at least one. The list may reach into `raised`, from two bytes for
 * each element and two more before its end on. */
void kibi_nonzero_list_s8(uint8_t *list, const uint8_t *raised, int32_t words, int32_t *count);

/* Writes the outputs of all blocks, cut to the range of int8. The values of `layer` mean nothing after that. */
void kibi_nonzero_sums_s8(kibi_nonzero_sums *layer);

#endif
