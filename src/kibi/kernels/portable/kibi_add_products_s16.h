/* Products of int16 and weights of four channels, added to sums of 64 bits. */
#ifndef KIBI_ADD_PRODUCTS_S16_H
#define KIBI_ADD_PRODUCTS_S16_H

#include "kibi.h"

/* Elements, and the weights of four channels for them. */
typedef struct {
    const int8_t *weights;   /* of the first channel */
    const int16_t *elements; /* whole fours, at least one, at most 508: the sum of so many products of 23 bits fits 32 bits */
    const int16_t *end;      /* of the elements */
    int32_t depth;           /* from a channel's weights to the next one's */
} kibi_products_s16;

/* Adds the sums of products of four channels to those at `sums`, which are of 64 bits and aligned as words. */
void kibi_add_products_s16(char *sums, const kibi_products_s16 *task);

#endif
