/* FLOOR_MOD of 32-bit integers: one output row of two inputs that broadcast. */
#ifndef KIBI_FLOOR_MOD_S32_H
#define KIBI_FLOOR_MOD_S32_H

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
} kibi_floor_mod_s32_params;

/* output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_floor_mod_s32(int32_t *output, const int32_t *const *rows, const kibi_floor_mod_s32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
