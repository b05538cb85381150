/* CAST from int16 to int32: one output row. */
#ifndef KIBI_CAST_S16_S32_H
#define KIBI_CAST_S16_S32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_cast_s16_s32_params;

/* output: [elements]; may overlap the input row where no element is written over one that is still to be read.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_cast_s16_s32(int32_t *output, const int16_t *const *rows, const kibi_cast_s16_s32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
