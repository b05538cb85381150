/* ADD_N: each kernel computes one output row of several inputs. */
#ifndef KIBI_ADD_N_H
#define KIBI_ADD_N_H

#include "kibi.h"

typedef struct {
    int32_t inputs;
    int32_t elements; /* of a row */
} kibi_add_n_f32_params;

/* ADD_N of floats: one row.
 * output: [elements]; may be an input row, or begin below it.
 * rows: a pointer to [elements] of each input.
 * scratch: none. */
void kibi_add_n_f32(float *output, const float *const *rows, const kibi_add_n_f32_params *params, void *scratch);

typedef struct {
    int32_t inputs;            /* 1 to 32 */
    int32_t elements;          /* of a row */
    int32_t zero_point;        /* of the inputs */
    int32_t output_multiplier; /* 0 ... 2**31 - 1 */
    int32_t output_shift;      /* -31 ... 0 */
    int32_t output_zero_point;
} kibi_add_n_s8_params;

/* ADD_N of int8: one row.
 * output: [elements]; may be an input row, or begin below it.
 * rows: a pointer to [elements] of each input. Sums are below 2**12 in magnitude.
 * scratch: none. */
void kibi_add_n_s8(int8_t *output, const int8_t *const *rows, const kibi_add_n_s8_params *params, void *scratch);

#endif
