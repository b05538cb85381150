/* WHILE: a body again and again. */
#ifndef KIBI_WHILE_ANY_H
#define KIBI_WHILE_ANY_H

#include "kibi.h"
#include "kibi_subgraph.h"

/* How many turns one run of a loop may take, before the inference ends with KIBI_ERROR_LIMIT. Define it to allow more. */
#ifndef KIBI_WHILE_LIMIT
#define KIBI_WHILE_LIMIT 100000u
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t inputs;                 /* tensors that are passed to the subgraphs */
    int32_t outputs;                /* tensors that the node gives */
    /* [inputs + outputs][2]: of an input the number of its rows and the bytes of each; of an output the byte where
     * it begins in the node's output, and its bytes */
    const int32_t *pieces;
    const kibi_subgraph *condition; /* its first output is one byte: not 0 for another turn */
    const kibi_subgraph *body;      /* one turn */
} kibi_while_any_params;

/* output: the outputs, each where the table says, with zeros between several; what is carried lies here between two turns.
 * rows: the rows of each input, in order; no overlap with output.
 * scratch: the arena of the subgraphs, aligned as they need it. Its first byte is 1 afterwards where this loop or one inside of it
 * reached its limit, else 0. */
void kibi_while_any(void *output, const void *const *rows, const kibi_while_any_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
