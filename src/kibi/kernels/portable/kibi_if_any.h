/* IF: one of two subgraphs. */
#ifndef KIBI_IF_ANY_H
#define KIBI_IF_ANY_H

#include "kibi.h"
#include "kibi_subgraph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t inputs;                 /* tensors that are passed to the subgraphs */
    int32_t outputs;                /* tensors that the node gives */
    /* [inputs + outputs][2]: of an input the number of its rows and the bytes of each; of an output the byte where
     * it begins in the node's output, and its bytes */
    const int32_t *pieces;
    const kibi_subgraph *then_body; /* runs where the condition is not 0 */
    const kibi_subgraph *else_body; /* runs where the condition is 0 */
} kibi_if_any_params;

/* output: the outputs, each where the table says; zeros between several.
 * rows: one pointer to the condition, one byte; then the rows of each input, in order. No overlap with output.
 * scratch: the arena of the subgraphs, aligned as they need it. Its first byte is 1 afterwards where a loop inside reached its limit,
 * else 0. */
void kibi_if_any(void *output, const void *const *rows, const kibi_if_any_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
