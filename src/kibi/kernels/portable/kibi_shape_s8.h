/* SHAPE of int8: numbers that are known ahead of time. */
#ifndef KIBI_SHAPE_S8_H
#define KIBI_SHAPE_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int32_t *sizes; /* [rank] */
    int32_t rank;
} kibi_shape_s8_params;

/* output: [rank]; may overlap the input row.
 * rows: one pointer, which is not read.
 * scratch: none. */
void kibi_shape_s8(int32_t *output, const int8_t *const *rows, const kibi_shape_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
