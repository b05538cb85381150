/* Sums of products of int8: the weights of two channels share a word with those of a second element. */
#ifndef KIBI_ADD_VECTOR_HALVES_S8_H
#define KIBI_ADD_VECTOR_HALVES_S8_H

#include "kibi.h"

/* Adds the products of eight channels' weights and pairs of elements to their sums, which wrap.
 * w: [steps][4 pairs of channels], as the parameters of kibi_fully_connected_s8_halves say. x: 2 * steps elements.
 * steps: at least 1. flags: the highest bit is the first step's, and so on: 1 where sums of products end. To there they fit 16 bits.
 * bias: what the sums start from; null: they start from what is in `sums`. */
void kibi_add_vector_halves_s8(uint32_t sums[8], const int32_t *w, const int8_t *x, int32_t steps, uint32_t flags,
                               const int32_t *bias);

#endif
