/* ADD: one output row of two inputs of the same size, sixteen elements side by side. */
#ifndef KIBI_ADD_LANES_H
#define KIBI_ADD_LANES_H

#include "kibi.h"

typedef struct {
    int32_t elements;    /* of the output, and of each input */
    int32_t activation_min;
    int32_t activation_max;
    int32_t zero_point1;
    int32_t multiplier1; /* 0 ... 2**31 - 1, as all multipliers here */
    int32_t shift1;      /* -31 ... 0, as all shifts here */
    int32_t zero_point2;
    int32_t multiplier2;
    int32_t shift2;
    int32_t output_zero_point;
    int32_t output_multiplier;
    int32_t output_shift;
} kibi_add_s8_lanes_params;

typedef struct {
    int32_t elements;     /* of the output, and of each input */
    float activation_min;
    float activation_max; /* applied after the minimum */
} kibi_add_f32_lanes_params;

/* output: [elements]; may be an input row, or begin below it.
 * rows: one pointer for each input.
 * scratch: none. */
void kibi_add_s8_lanes(int8_t *output, const int8_t *const *rows, const kibi_add_s8_lanes_params *params, void *scratch);
void kibi_add_f32_lanes(float *output, const float *const *rows, const kibi_add_f32_lanes_params *params, void *scratch);

#endif
