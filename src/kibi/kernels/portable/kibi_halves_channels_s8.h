/* All output channels of a block of pixels, whose elements are in the halves of words: a word has those of two pixels, the first plus
 * 2**16 times the second, and its product with a weight has both products. */
#ifndef KIBI_HALVES_CHANNELS_S8_H
#define KIBI_HALVES_CHANNELS_S8_H

#include "kibi.h"

/* What is computed of a block: the products of a piece of its windows, or of all. The next channel's places move as it is done. */
typedef struct {
    /* [groups][pairs of pixels][4 elements]: each word has two neighbouring pixels of the block; the last words of an odd number have the
     * last pixel alone, as a number of 32 bits */
    const uint32_t *words;
    const int8_t *filter;      /* [groups][4][2]: weights of the next two channels, from the piece's first group on */
    const uint32_t *breaks;    /* the word with the first group's bit, of the next two channels */
    const int32_t *bias;       /* of the next two channels, from which sums start; null: they were kept */
    uint32_t *sums;            /* kept: four words for each pair of pixels, of the next two channels */
    const int32_t *multiplier; /* of the next channel */
    const int8_t *shift;       /* of the next channel */
    int8_t *output;            /* the last pixel's next channel */
    int32_t channels;          /* that are left */
    int32_t filter_bytes;      /* of both channels' weights in the piece: 8 for each group of four elements, at least one */
    int32_t filter_step;       /* bytes from one pair of channels to the next */
    int32_t breaks_step;       /* bytes, likewise */
    int32_t sums_step;         /* bytes, likewise; 0 where none are kept */
    int32_t first;             /* bits of the word of breaks before that of the first group */
    int32_t pixels;            /* of the block, 1 … 6 */
    int32_t finishes;          /* 1: the sums are whole, and become outputs; 0: they are kept */
    int32_t output_channels;
    int32_t last;              /* elements from the first pixel's output to the last one's */
    int32_t rounding;          /* twice the output's zero point, plus 1 */
    int32_t low;
    int32_t high;
    int32_t first_bytes;       /* of weights whose groups share the first word of breaks: 8 * (32 - first) */
} kibi_halves_block;

/* Adds the products of the block's piece to the sums of all channels, and makes outputs of whole ones.
 * A bit of the breaks, the highest one first, is 0 where the sums of a group's four products fit 16 bits for both channels; in any case
 * those of its first two and of its last two do. */
void kibi_halves_channels_s8(kibi_halves_block *block);

#endif
