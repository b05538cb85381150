/* A block of sums of products: two rows of weights and two inputs. A function of its own, so that its loop has all registers. */
#ifndef KIBI_DOT_2X2_S8_H
#define KIBI_DOT_2X2_S8_H

#include "kibi.h"

/* Two inputs of pieces * count elements each. */
typedef struct {
    const int8_t *const *rows; /* [pieces] */
    int32_t offset;            /* elements from such a pointer to a piece of the first input */
    int32_t distance;          /* elements from there to that of the second */
    int32_t pieces;            /* at least 1 */
    int32_t count;             /* neighbouring elements of a piece */
} kibi_dot_2x2_s8_inputs;

/* sums[2 * j + i] becomes bias[i] plus the products of weights row i and input j.
 * w: two rows of pieces * count weights, one after the other. */
void kibi_dot_2x2_s8(int32_t sums[4], const int32_t bias[2], const int8_t *w, const kibi_dot_2x2_s8_inputs *x);

#endif
