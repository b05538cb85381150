/* SIN of floats: one output row. */
#ifndef KIBI_SIN_F32_H
#define KIBI_SIN_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_sin_f32_params;

/* output: [elements]; may begin at the input row, or below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_sin_f32(float *output, const float *const *rows, const kibi_sin_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
