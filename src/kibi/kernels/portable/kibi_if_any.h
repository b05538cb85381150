/* IF: one of two subgraphs. */
#ifndef KIBI_IF_ANY_H
#define KIBI_IF_ANY_H

#include "kibi.h"
#include "kibi_subgraph.h"

typedef struct {
    int32_t inputs;        /* tensors that are passed to the subgraphs */
    int32_t outputs;       /* tensors that the node gives */
    /* [2 * inputs + outputs]: the number of rows of each input, and the bytes of one; then the bytes of each output */
    const int32_t *pieces;
} kibi_if_any_params;

/* outputs: a pointer to each.
 * rows: one pointer to the condition, one byte; then the rows of each input, in order. No overlap with an output.
 * scratch: the arena of the subgraphs, aligned as they need it. Its first byte is 1 afterwards where a loop inside reached its limit,
 * else 0.
 * bodies: the subgraph that runs where the condition is not 0, then the one that runs where it is 0. */
void kibi_if_any(void *const *outputs, const void *const *rows, const kibi_if_any_params *params, void *scratch,
                 const kibi_subgraph *const *bodies);

#endif
