/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL of int8: one output row of two inputs that broadcast. */
#ifndef KIBI_COMPARE_S8_H
#define KIBI_COMPARE_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;   /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t relation;    /* what makes an output 1: 1 less, 2 equal, 4 greater, 8 none of these, added up */
    int32_t zero_point1;
    int32_t multiplier1; /* 0 ... 2**31 - 1 */
    int32_t shift1;      /* -31 ... 0 */
    int32_t zero_point2;
    int32_t multiplier2;
    int32_t shift2;
} kibi_compare_s8_params;

/* output: [pieces][elements] of 0 and 1; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_compare_s8(uint8_t *output, const int8_t *const *rows, const kibi_compare_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
