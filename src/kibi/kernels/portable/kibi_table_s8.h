/* Any function of one int8 element, as a table. */
#ifndef KIBI_TABLE_S8_H
#define KIBI_TABLE_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int8_t *table; /* [256], the outputs for -128 ... 127 */
    int32_t elements;    /* of a row */
} kibi_table_s8_params;

/* output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_table_s8(int8_t *output, const int8_t *const *rows, const kibi_table_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
