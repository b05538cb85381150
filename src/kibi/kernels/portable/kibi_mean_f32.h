/* MEAN of floats: row after row of the input is added up; the last call writes the whole output. */
#ifndef KIBI_MEAN_F32_H
#define KIBI_MEAN_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t size1; /* rows of one part of the batch */
    int32_t size2; /* turns of the outer loop inside a row */
    int32_t size3; /* turns of the inner loop inside a row */
    int32_t step0; /* how far the output index moves from part to part of the batch: 0 along reduced axes */
    int32_t step1; /* the same from row to row */
    int32_t step2; /* the same in each turn of the outer loop */
    int32_t step3; /* the same in each turn of the inner loop */
    int32_t steps; /* rows of the input */
    int32_t output_elements;
    float count;   /* elements of each mean */
} kibi_mean_f32_params;

/* output: [output_elements], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [size2][size3], the row `step` of the input.
 * scratch: 4 * output_elements bytes, aligned as float; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */
void kibi_mean_f32(float *output, const float *const *rows, const kibi_mean_f32_params *params, void *scratch, int32_t step);

#ifdef __cplusplus
}
#endif

#endif
