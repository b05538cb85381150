/* Eight output channels at once, of the elements of a vector that are not zero. A function of its own, so that its loop has all
 * registers. */
#ifndef KIBI_NONZERO_SUMS_S8_H
#define KIBI_NONZERO_SUMS_S8_H

#include "kibi.h"

enum { KIBI_NONZERO_CHANNELS = 8, KIBI_NONZERO_SUMS = 4 };

/* The blocks of a layer. A word of 32 bits has the weights of one element for four channels, each 128 higher than it is, so that no
 * byte has a sign. Four channels have two sums of 64 bits: one of the words times the elements, and one of the words' bytes 2 and 1,
 * the second one 2**24 times. */
typedef struct {
    const int64_t *filter; /* of the next block: what its four sums start from, then the weights of each element */
    const uint8_t *steps;  /* pairs: how many elements further the next one is, 0 after the last one; and its value */
    const int32_t *scales; /* of the next two channels, as of kibi_fully_connected_s8_nonzero */
    int8_t *output;
    int32_t block_bytes;   /* from one block to the next */
    int32_t blocks;        /* at least 1 */
    int32_t scale_step;
    int32_t rounding;      /* twice the output's zero point, plus 1 */
    uint64_t first_less;   /* what the first sum has too much, as weights are 128 higher than they are */
    uint64_t second_less;
} kibi_nonzero_sums;

/* Writes the outputs of all blocks, cut to the range of int8. The values of `layer` mean nothing after that. */
void kibi_nonzero_sums_s8(kibi_nonzero_sums *layer);

#endif
