/* Sums of products of int8: four neighbouring channels under the taps of a window. A function of its own, so that its loop has
 * all registers. */
#ifndef KIBI_DOT_TAPS_S8_H
#define KIBI_DOT_TAPS_S8_H

#include "kibi.h"

typedef struct {
    const int8_t *const *taps;  /* for each tap a pointer to the first channel; null: outside the input */
    const int8_t *const *end;   /* after the last one; there is one at least */
    int32_t channel;            /* the first of the four */
    int32_t channels;           /* weights from one tap's to the next one's */
    const int8_t *outside;      /* four elements that taps outside meet */
} kibi_dot_taps_s8_inputs;

/* sums[i] becomes start[i] plus the products of channel + i and w[i] of each tap.
 * start: may be sums. w: the first tap's weight of the first of the four channels. Returns that of the tap after the last. */
const int8_t *kibi_dot_taps_s8(int32_t sums[4], const int32_t start[4], const int8_t *w, const kibi_dot_taps_s8_inputs *x);

#endif
