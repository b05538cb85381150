/* Copies of rows. */
#ifndef KIBI_COPY_H
#define KIBI_COPY_H

#include "kibi.h"

typedef struct {
    int32_t pieces;
    int32_t bytes; /* of a piece */
} kibi_copy_any_params;

/* RESHAPE, SQUEEZE, EXPAND_DIMS: one output row from pieces of input rows, of any type.
 * output: [pieces][bytes]; may overlap an input row where no piece is written over one that is still to be read: they are
 * written in order, each as if it had been read before.
 * rows: pieces pointers to [bytes].
 * scratch: none. */
void kibi_copy_any(void *output, const void *const *rows, const kibi_copy_any_params *params, void *scratch);

typedef struct {
    int32_t pieces;
    int32_t elements; /* of a piece */
} kibi_copy_params;

/* RESHAPE: one output row from pieces of input rows.
 * output: [pieces][elements]; may overlap an input row where no piece is written over one that is still to be read: they
 * are written in order, each as if it had been read before.
 * rows: pieces pointers to [elements].
 * scratch: none. */
void kibi_copy_f32(float *output, const float *const *rows, const kibi_copy_params *params, void *scratch);
void kibi_copy_s8(int8_t *output, const int8_t *const *rows, const kibi_copy_params *params, void *scratch);

#endif
