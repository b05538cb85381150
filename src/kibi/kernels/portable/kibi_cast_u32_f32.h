/* CAST from uint32 to float: one output row. */
#ifndef KIBI_CAST_U32_F32_H
#define KIBI_CAST_U32_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_cast_u32_f32_params;

/* output: [elements]; may overlap the input row where no element is written over one that is still to be read.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_cast_u32_f32(float *output, const uint32_t *const *rows, const kibi_cast_u32_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
