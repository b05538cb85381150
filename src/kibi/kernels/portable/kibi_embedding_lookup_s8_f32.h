/* EMBEDDING_LOOKUP: items of a table of int8 as floats. */
#ifndef KIBI_EMBEDDING_LOOKUP_S8_F32_H
#define KIBI_EMBEDDING_LOOKUP_S8_F32_H

#include "kibi.h"

typedef struct {
    int32_t lookups;      /* how many items are looked up */
    int32_t items;        /* how many the table has */
    int32_t pieces;       /* of an item */
    int32_t elements;     /* of a piece */
    int32_t row_elements; /* of the table, at each pointer: a multiple of a piece */
    float scale;          /* of the table */
} kibi_embedding_lookup_s8_f32_params;

/* output: [lookups][pieces][elements] floats; does not overlap an input row.
 * rows: a pointer to [lookups] numbers, int32, then those to the table's [row_elements] int8, whose zero point is 0; a number
 * without an item gives zeros.
 * scratch: none. */
void kibi_embedding_lookup_s8_f32(void *output, const void *const *rows,
                                  const kibi_embedding_lookup_s8_f32_params *params, void *scratch);

#endif
