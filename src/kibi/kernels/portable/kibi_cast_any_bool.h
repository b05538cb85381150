/* CAST to bool: one output row. */
#ifndef KIBI_CAST_ANY_BOOL_H
#define KIBI_CAST_ANY_BOOL_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
    int32_t bytes;    /* of an input element: 1, 2 or 4 */
    int32_t is_float; /* 1 where input elements are floats, of which -0 is a zero, too; else 0 */
} kibi_cast_any_bool_params;

/* output: [elements] uint8_t, 0 or 1; may begin at the input row, or below it.
 * rows: one pointer to [elements][bytes].
 * scratch: none. */
void kibi_cast_any_bool(void *output, const void *const *rows, const kibi_cast_any_bool_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
