/* All output channels of an input vector: the weights of two channels share a word with those of a second element. */
#ifndef KIBI_HALVES_VECTOR_S8_H
#define KIBI_HALVES_VECTOR_S8_H

#include "kibi.h"

/* The vector, and what is computed of it. The next channels' places move as they are done. */
typedef struct {
    const int32_t *filter;    /* [pieces][steps of two elements][4 pairs of channels], of the next eight channels */
    const uint32_t *breaks;   /* a bit for each step, likewise */
    const int32_t *bias;      /* of the next eight channels */
    const int32_t *multiplier;
    const int8_t *shift;
    int8_t *output;
    int32_t channels;         /* that are left */
    const int8_t *const *pieces;
    const int8_t *const *pieces_end;
    int32_t offset;           /* of the vector in each piece */
    int32_t piece;            /* elements of a piece, an even number */
    int32_t rounding;         /* twice the output's zero point, plus 1 */
    int32_t low;
    int32_t high;
} kibi_halves_vector;

/* Computes all outputs of the vector. filter and breaks are as the parameters of kibi_fully_connected_s8_halves say: where a bit is 1, at
 * the end of a piece, and at the end of a word of bits, sums of products end; to there they fit 16 bits. */
void kibi_halves_vector_s8(kibi_halves_vector *vector);

#endif
