/* ADD_N of floats: one row. */
#ifndef KIBI_ADD_N_F32_H
#define KIBI_ADD_N_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t inputs;
    int32_t elements; /* of a row */
} kibi_add_n_f32_params;

/* output: [elements]; may be an input row, or begin below it.
 * rows: a pointer to [elements] of each input.
 * scratch: none. */
void kibi_add_n_f32(float *output, const float *const *rows, const kibi_add_n_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
