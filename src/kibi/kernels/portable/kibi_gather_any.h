/* EMBEDDING_LOOKUP, GATHER, GATHER_ND: items of a table by numbers that are computed. */
#ifndef KIBI_GATHER_ANY_H
#define KIBI_GATHER_ANY_H

#include "kibi.h"

typedef struct {
    int32_t batches;             /* parts of the table and of the numbers that belong together */
    int32_t outer;               /* parts of a batch of the table; all numbers of the batch apply to each */
    int32_t lookups;             /* of a batch */
    int32_t depth;               /* numbers of a lookup; the item is the sum of their products with the strides */
    const int32_t *strides;      /* [depth] */
    int32_t items;               /* of a part of the table */
    int32_t pieces;              /* of an item */
    int32_t bytes;               /* of a piece */
    int32_t row_bytes;           /* of the table, at each pointer: a multiple of a piece */
    int32_t number_row_elements; /* numbers at each pointer to numbers */
    int32_t table;               /* which of the rows' pointers is the table's first */
    int32_t numbers;             /* which of the rows' pointers is the first to numbers */
} kibi_gather_any_params;

/* output: [batches][outer][lookups][pieces][bytes]; does not overlap an input row.
 * rows: pointers to the table's [row_bytes], and to [number_row_elements] numbers, int32, [batches][lookups][depth]; a
 * lookup that leads to no item gives zeros.
 * scratch: none. */
void kibi_gather_any(void *output, const void *const *rows, const kibi_gather_any_params *params, void *scratch);

#endif
