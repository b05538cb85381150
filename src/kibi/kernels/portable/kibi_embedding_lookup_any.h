/* EMBEDDING_LOOKUP: items of a table. */
#ifndef KIBI_EMBEDDING_LOOKUP_ANY_H
#define KIBI_EMBEDDING_LOOKUP_ANY_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t lookups; /* how many items are looked up */
    int32_t items;   /* how many there are */
    int32_t pieces;  /* of an item */
    int32_t elements;     /* of a piece */
    int32_t row_elements; /* behind a pointer: a multiple of a piece */
    int32_t bytes; /* of an element */
} kibi_embedding_lookup_any_params;

/* output: [lookups][pieces][elements]; does not overlap an input row.
 * rows: a pointer to [lookups] numbers, int32, then those to the table's [row_elements]; a number without an item gives zeros.
 * scratch: none. */
void kibi_embedding_lookup_any(void *output, const void *const *rows,
                               const kibi_embedding_lookup_any_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
