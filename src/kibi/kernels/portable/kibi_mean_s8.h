/* MEAN: the whole output in one step. */
#ifndef KIBI_MEAN_S8_H
#define KIBI_MEAN_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t size0; /* loops over the rows */
    int32_t size1;
    int32_t size2; /* loops inside a row */
    int32_t size3;
    int32_t step0; /* how far the output index moves in each loop; 0 along reduced axes */
    int32_t step1;
    int32_t step2;
    int32_t step3;
    int32_t output_elements;
    int32_t zero_points; /* input zero point * elements of each mean */
    int32_t output_zero_point;
    int32_t multiplier; /* 0 … 2**31 - 1, with the division in it */
    int32_t shift;      /* -31 … 30 */
} kibi_mean_s8_params;

/* output: [output_elements]; may overlap the input rows, which are read before it is written.
 * rows: size0 * size1 pointers to [size2][size3].
 * scratch: 4 * output_elements bytes, aligned as int32_t. */
void kibi_mean_s8(int8_t *output, const int8_t *const *rows, const kibi_mean_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
