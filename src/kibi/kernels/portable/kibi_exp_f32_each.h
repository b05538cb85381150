/* EXP of floats: one output row. */
#ifndef KIBI_EXP_F32_EACH_H
#define KIBI_EXP_F32_EACH_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_exp_f32_each_params;

/* output: [elements]; may begin at the input row, or below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_exp_f32_each(float *output, const float *const *rows, const kibi_exp_f32_each_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
