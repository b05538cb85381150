/* Units of SVDF that have one filter each: from its new result to the unit's output. */
#ifndef KIBI_SVDF_UNITS_H
#define KIBI_SVDF_UNITS_H

#include "kibi.h"

/* Kernels in assembly know where each field is, and change those that move on. */
typedef struct {
    const int32_t *results;     /* products of the filters' weights, with their biases */
    int32_t feature_multiplier; /* doubled, modulo 2**32 */
    int32_t feature_shift;      /* ~shift: -1 or less where it is to the left */
    const int32_t *bias;
    void *state;                /* [filters][memory] */
    const void *weights;        /* [filters][memory] */
    int32_t memory;
    int32_t output_multiplier;  /* doubled, modulo 2**32 */
    int32_t output_shift;       /* as of features */
    int32_t output_zero_point;
    int8_t *output;
    const int32_t *results_end; /* after at least one */
    int32_t state_zero_point;
} kibi_svdf_units;

/* Computes a unit for each result: scales it, remembers it in place of the oldest one, weighs all that are kept, and scales their sum.
 * memory: a multiple of 4, at least 8; of int16 an even number, at least 4. */
void kibi_svdf_units_s8(kibi_svdf_units *task);
void kibi_svdf_units_s16(kibi_svdf_units *task);

#endif
