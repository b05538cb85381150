/* CAST from float to int8: one output row. */
#ifndef KIBI_CAST_F32_S8_H
#define KIBI_CAST_F32_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_cast_f32_s8_params;

/* output: [elements]; may overlap the input row where no element is written over one that is still to be read.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_cast_f32_s8(int8_t *output, const float *const *rows, const kibi_cast_f32_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
