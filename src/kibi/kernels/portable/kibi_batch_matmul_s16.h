/* BATCH_MATMUL of int16s: products of matrices. */
#ifndef KIBI_BATCH_MATMUL_S16_H
#define KIBI_BATCH_MATMUL_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int32_t *matrices; /* [matrix_count][4]: pointer and element at which each of input 1, then of input 2, begins */
    int32_t matrix_count;
    int32_t rows;    /* of a product */
    int32_t columns; /* of a product */
    int32_t depth;   /* elements that are multiplied and added up */
    int32_t pointers1;    /* of input 1 */
    int32_t row_pointers; /* pointers from one row of input 1 to the next */
    int32_t depth1_pointers;
    int32_t depth2_pointers;
    int32_t column_pointers; /* pointers from one column of input 2 to the next */
    int32_t row_step;        /* elements, likewise; where an axis takes pointers, 0 */
    int32_t depth1_step;
    int32_t depth2_step;
    int32_t column_step;
    int32_t output_multiplier; /* 0 … 2**31 - 1 */
    int32_t output_shift; /* -31 … 7 */
} kibi_batch_matmul_s16_params;

/* output: [matrix_count][rows][columns]; does not overlap an input row.
 * rows: pointers1 pointers to pieces of input 1, then those of input 2.
 * scratch: none. */
void kibi_batch_matmul_s16(int16_t *output, const int16_t *const *rows,
                           const kibi_batch_matmul_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
