/* WHILE: a body again and again. */
#ifndef KIBI_WHILE_ANY_H
#define KIBI_WHILE_ANY_H

#include "kibi.h"
#include "kibi_subgraph.h"

/* How many turns one run of a loop may take, before the inference ends with KIBI_ERROR_LIMIT. Define it to allow more. */
#ifndef KIBI_WHILE_LIMIT
#define KIBI_WHILE_LIMIT 100000u
#endif

typedef struct {
    int32_t inputs;        /* tensors that are passed to the subgraphs */
    int32_t outputs;       /* tensors that the node gives */
    /* [2 * inputs + outputs]: the number of rows of each input, and the bytes of one; then the bytes of each output */
    const int32_t *pieces;
} kibi_while_any_params;

/* outputs: a pointer to each; what is carried is here between two iterations.
 * rows: the rows of each input, in order; no overlap with an output.
 * scratch: the arena of the subgraphs, aligned as they need it. Its first byte is 1 afterwards where this loop or one inside of it
 * reached its limit, else 0.
 * bodies: the subgraph whose first output, one byte, is not 0 for another turn; then the one of a turn. */
void kibi_while_any(void *const *outputs, const void *const *rows, const kibi_while_any_params *params, void *scratch,
                    const kibi_subgraph *const *bodies);

#endif
