/* All output channels of an input vector: the weights of four channels share a word. */
#ifndef KIBI_HALVES_VECTOR_S8_H
#define KIBI_HALVES_VECTOR_S8_H

#include "kibi.h"

#ifndef KIBI_HALVES_OF_ZEROS
#define KIBI_HALVES_OF_ZEROS 1
#endif

/* The vector, and what is computed of it. The next channels' places move as they are done. */
typedef struct {
    const int32_t *filter;    /* [elements][2], of the next eight channels */
    const uint32_t *breaks;   /* a bit for each element, likewise; of weighed vectors after ten numbers */
    const int32_t *bias;      /* of the next eight channels */
    const int32_t *multiplier;
    const int8_t *shift;
    int8_t *output;
    int32_t channels;         /* that are left */
    const int8_t *const *pieces;
    const int8_t *const *pieces_end;
    int32_t offset;           /* of the vector in each piece */
    int32_t piece;            /* elements of a piece */
    int32_t rounding;         /* twice the output's zero point, plus 1 */
    int32_t low;
    int32_t high;
#if KIBI_HALVES_OF_ZEROS
    uint32_t total;           /* of a weighed vector's elements, each plus 128 */
    int32_t flags_bytes;      /* of a block of eight channels */
    int32_t saved;            /* ends that take as long as the products of the elements that are then 0; -1: the vector is not weighed */
#endif
} kibi_halves_vector;

/* Computes all outputs of the vector. filter and breaks are as the parameters of kibi_fully_connected_s8_halves say: where a bit is 1,
 * and at the end of the vector, sums of products end; to there they fit 16 bits. */
void kibi_halves_vector_s8(kibi_halves_vector *vector);

#endif
