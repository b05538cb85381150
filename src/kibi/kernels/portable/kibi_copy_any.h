/* RESHAPE, SQUEEZE, EXPAND_DIMS: one output row from pieces of input rows, of any type. */
#ifndef KIBI_COPY_ANY_H
#define KIBI_COPY_ANY_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t pieces;
    int32_t bytes; /* of a piece */
} kibi_copy_any_params;

/* output: [pieces][bytes]; may overlap an input row where no piece is written over one that is still to be read: they are
 * written in order, each as if it had been read before.
 * rows: pieces pointers to [bytes].
 * scratch: none. */
void kibi_copy_any(void *output, const void *const *rows, const kibi_copy_any_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
