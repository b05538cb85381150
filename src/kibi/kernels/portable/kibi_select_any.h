/* SELECT_V2: one output row of a condition and two inputs that broadcast. */
#ifndef KIBI_SELECT_ANY_H
#define KIBI_SELECT_ANY_H

#include "kibi.h"

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of the condition: 1, or one for each piece */
    int32_t rows2;       /* pointers of the first input */
    int32_t row_step1;   /* of the condition: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of the first input */
    int32_t piece_step2;
    int32_t step2;
    int32_t row_step3;   /* the same of the second input */
    int32_t piece_step3;
    int32_t step3;
    int32_t bytes;       /* of an element of the inputs and the output: 1, 2 or 4 */
} kibi_select_any_params;

/* output: [pieces][elements]; may be an input row of as many elements, or begin below it; overlaps neither a row that
 * broadcasts nor, where elements have several bytes, one of the condition.
 * rows: rows1 pointers for the condition, whose elements are a byte each, then rows2 for what is taken where it is not 0, then
 * those for what is taken else, at the steps that the parameters give.
 * scratch: none. */
void kibi_select_any(void *output, const void *const *rows, const kibi_select_any_params *params, void *scratch);

#endif
