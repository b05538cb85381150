/* STRIDED_SLICE, SLICE, SPLIT, SPLIT_V, UNPACK, TRANSPOSE: elements of one input in another order. */
#ifndef KIBI_STRIDED_COPY_ANY_H
#define KIBI_STRIDED_COPY_ANY_H

#include "kibi.h"

typedef struct {
    int32_t bytes;         /* of a piece, which is contiguous in the input and in the output */
    int32_t first_pointer; /* number of the pointer to the row of the first piece */
    int32_t first_byte;    /* where the first piece begins in that row */
    int32_t axes;          /* loops, 1 to 8 */
    /* [axes][3], the outermost first: steps, at least 1; pointers and bytes from one step to the next */
    const int32_t *loops;
} kibi_strided_copy_any_params;

/* output: [steps of axis 0]…[steps of the last axis][bytes]; may overlap an input row where no piece is written over one
 * that is still to be read: they are written in order, each as if it had been read before.
 * rows: pointers to rows or parts of rows; each piece is in one of them.
 * scratch: none. */
void kibi_strided_copy_any(void *output, const void *const *rows, const kibi_strided_copy_any_params *params, void *scratch);

#endif
