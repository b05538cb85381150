/* SOFTMAX of floats: the vectors of one output row. */
#ifndef KIBI_SOFTMAX_F32_H
#define KIBI_SOFTMAX_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    float beta;      /* factor of the inputs */
    int32_t vectors; /* of a row */
    int32_t depth;   /* elements of a vector, 1 or more */
} kibi_softmax_f32_params;

/* output: [vectors][depth]; may begin at the input row, or below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none; exponentials stay in the output until their sum is known. */
void kibi_softmax_f32(float *output, const float *const *rows, const kibi_softmax_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
