/* L2_NORMALIZATION of floats: one output row, a vector or several. */
#ifndef KIBI_L2_NORMALIZATION_F32_H
#define KIBI_L2_NORMALIZATION_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t vectors; /* of a row */
    int32_t depth;   /* elements of a vector, 1 or more */
} kibi_l2_normalization_f32_params;

/* output: [vectors][depth]; may begin at the input row, or below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_l2_normalization_f32(float *output, const float *const *rows, const kibi_l2_normalization_f32_params *params,
                               void *scratch);

#ifdef __cplusplus
}
#endif

#endif
