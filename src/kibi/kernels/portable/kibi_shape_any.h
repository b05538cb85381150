/* SHAPE: numbers that are known ahead of time. */
#ifndef KIBI_SHAPE_ANY_H
#define KIBI_SHAPE_ANY_H

#include "kibi.h"

typedef struct {
    const int32_t *sizes; /* [rank] */
    int32_t rank;
} kibi_shape_any_params;

/* output: [rank] int32; may overlap the input row.
 * rows: one pointer, which is not read.
 * scratch: none. */
void kibi_shape_any(void *output, const void *const *rows, const kibi_shape_any_params *params, void *scratch);

#endif
