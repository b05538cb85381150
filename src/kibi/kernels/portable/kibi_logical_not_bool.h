/* LOGICAL_NOT: one row. */
#ifndef KIBI_LOGICAL_NOT_BOOL_H
#define KIBI_LOGICAL_NOT_BOOL_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_logical_not_bool_params;

/* output: [elements] of 0 and 1; may be the input row, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_logical_not_bool(uint8_t *output, const uint8_t *const *rows, const kibi_logical_not_bool_params *params,
                           void *scratch);

#ifdef __cplusplus
}
#endif

#endif
