/* DYNAMIC_UPDATE_SLICE: a tensor with a part of it replaced, at a place that is computed. */
#ifndef KIBI_DYNAMIC_UPDATE_SLICE_ANY_H
#define KIBI_DYNAMIC_UPDATE_SLICE_ANY_H

#include "kibi.h"

typedef struct {
    int32_t pointers;            /* of the tensor */
    int32_t row_bytes;           /* of the tensor, at each pointer */
    int32_t update_pointers;     /* of the update */
    int32_t update_row_bytes;    /* of the update, at each pointer */
    int32_t axes;                /* 1 to 8 */
    const int32_t *sizes;        /* [axes] of the tensor */
    const int32_t *update_sizes; /* [axes] of the update, none larger than the tensor's */
    int32_t bytes;               /* of an element */
    int32_t index_bytes;         /* of a number of the place: 4 or 8 */
} kibi_dynamic_update_slice_any_params;

/* output: [pointers][row_bytes]; may overlap a row of the tensor where no row is written over one that is still to be copied.
 * rows: pointers to [row_bytes], then update_pointers to [update_row_bytes], then one to [axes] numbers, where the update
 * begins along each axis; it is moved until it is inside.
 * scratch: none. */
void kibi_dynamic_update_slice_any(void *output, const void *const *rows,
                                   const kibi_dynamic_update_slice_any_params *params, void *scratch);

#endif
