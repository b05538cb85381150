/* LOGISTIC of int16: one output row. */
#ifndef KIBI_LOGISTIC_S16_H
#define KIBI_LOGISTIC_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements;    /* of a row */
    /* 0 ... 2**31 - 1; factor and shift bring inputs to units of 1/12288; a product beyond 32 bits wraps */
    int32_t factor;
    int32_t right_shift; /* 0 ... 31; 0 where the factor is above 32767 */
} kibi_logistic_s16_params;

/* output: [elements], in units of 2**-15; may begin at the input row, or below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_logistic_s16(int16_t *output, const int16_t *const *rows, const kibi_logistic_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
