/* CAST from uint32 to int16: one output row. */
#ifndef KIBI_CAST_U32_S16_H
#define KIBI_CAST_U32_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_cast_u32_s16_params;

/* output: [elements]; may overlap the input row where no element is written over one that is still to be read.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_cast_u32_s16(int16_t *output, const uint32_t *const *rows, const kibi_cast_u32_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
