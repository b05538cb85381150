/* RESHAPE: one output row from pieces of input rows. */
#ifndef KIBI_COPY_S8_H
#define KIBI_COPY_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t pieces;
    int32_t elements; /* of a piece */
} kibi_copy_s8_params;

/* output: [pieces][elements]; may overlap an input row where no piece is written over one that is still to be read: they
 * are written in order, each as if it had been read before.
 * rows: pieces pointers to [elements].
 * scratch: none. */
void kibi_copy_s8(int8_t *output, const int8_t *const *rows, const kibi_copy_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
