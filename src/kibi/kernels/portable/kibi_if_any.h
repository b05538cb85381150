/* IF: one of two bodies. */
#ifndef KIBI_IF_ANY_H
#define KIBI_IF_ANY_H

#include "kibi.h"
#include "kibi_body.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t inputs;             /* how many are passed to the bodies */
    int32_t outputs;
    const int32_t *pieces;      /* [inputs + outputs][2]: of an input its rows and their bytes; of an output where in `output`
                                 * it begins, and its bytes */
    const kibi_body *then_body; /* where the condition is not 0 */
    const kibi_body *else_body;
} kibi_if_any_params;

/* output: the outputs, each where the table says; zeros between several.
 * rows: one pointer to the condition, one byte; then the rows of each input, in order. No overlap with output.
 * scratch: the arena of the bodies, aligned as they need it. Its first byte is 1 afterwards where a loop inside reached its limit,
 * else 0. */
void kibi_if_any(void *output, const void *const *rows, const kibi_if_any_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
