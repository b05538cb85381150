/* WHILE: a body again and again. */
#ifndef KIBI_WHILE_ANY_H
#define KIBI_WHILE_ANY_H

#include "kibi.h"
#include "kibi_body.h"

/* How many turns one run of a loop may take, before the inference ends with KIBI_ERROR_LIMIT. Define it to allow more. */
#ifndef KIBI_WHILE_LIMIT
#define KIBI_WHILE_LIMIT 100000u
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t inputs;             /* how many tensors are carried */
    int32_t outputs;            /* as many */
    const int32_t *pieces;      /* [inputs + outputs][2]: of an input its rows and their bytes; of an output where in `output`
                                 * it begins, and its bytes */
    const kibi_body *condition; /* its first output is one byte: not 0 for another turn */
    const kibi_body *body;
} kibi_while_any_params;

/* output: the outputs, each where the table says, with zeros between several; what is carried lies here between two turns.
 * rows: the rows of each input, in order; no overlap with output.
 * scratch: the arena of the bodies, aligned as they need it. Its first byte is 1 afterwards where this loop or one inside of it
 * reached its limit, else 0. */
void kibi_while_any(void *output, const void *const *rows, const kibi_while_any_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
