/* BATCH_MATMUL: each kernel computes one output row. */
#ifndef KIBI_BATCH_MATMUL_H
#define KIBI_BATCH_MATMUL_H

#include "kibi.h"

typedef struct {
    /* [matrix_count][4]: pointer and element at which each of input 1, then of input 2, begins */
    const int32_t *matrices;
    int32_t matrix_count;
    int32_t rows;            /* of a product */
    int32_t columns;         /* of a product */
    int32_t depth;           /* elements that are multiplied and added up */
    int32_t pointers1;       /* pointers to pieces of input 1; those of input 2 follow */
    int32_t row_pointers;    /* pointers from one row of input 1 to the next */
    int32_t depth1_pointers; /* pointers from one element of a row of input 1 to the next */
    int32_t depth2_pointers; /* pointers from one element of a column of input 2 to the next */
    int32_t column_pointers; /* pointers from one column of input 2 to the next */
    int32_t row_step;        /* elements from one row of input 1 to the next; 0 where row_pointers is not */
    /* elements from one element of a row of input 1 to the next; 0 where depth1_pointers is not */
    int32_t depth1_step;
    /* elements from one element of a column of input 2 to the next; 0 where depth2_pointers is not */
    int32_t depth2_step;
    int32_t column_step;     /* elements from one column of input 2 to the next; 0 where column_pointers is not */
} kibi_batch_matmul_f32_params;

/* BATCH_MATMUL of floats: products of matrices.
 * output: [matrix_count][rows][columns]; does not overlap an input row.
 * rows: pointers1 pointers to pieces of input 1, then those of input 2.
 * scratch: none. */
void kibi_batch_matmul_f32(float *output, const float *const *rows, const kibi_batch_matmul_f32_params *params,
                           void *scratch);

typedef struct {
    /* [matrix_count][4]: pointer and element at which each of input 1, then of input 2, begins */
    const int32_t *matrices;
    int32_t matrix_count;
    int32_t rows;              /* of a product */
    int32_t columns;           /* of a product */
    int32_t depth;             /* elements that are multiplied and added up */
    int32_t pointers1;         /* pointers to pieces of input 1; those of input 2 follow */
    int32_t row_pointers;      /* pointers from one row of input 1 to the next */
    int32_t depth1_pointers;   /* pointers from one element of a row of input 1 to the next */
    int32_t depth2_pointers;   /* pointers from one element of a column of input 2 to the next */
    int32_t column_pointers;   /* pointers from one column of input 2 to the next */
    int32_t row_step;          /* elements from one row of input 1 to the next; 0 where row_pointers is not */
    /* elements from one element of a row of input 1 to the next; 0 where depth1_pointers is not */
    int32_t depth1_step;
    /* elements from one element of a column of input 2 to the next; 0 where depth2_pointers is not */
    int32_t depth2_step;
    int32_t column_step;       /* elements from one column of input 2 to the next; 0 where column_pointers is not */
    int32_t output_multiplier; /* 0 ... 2**31 - 1 */
    int32_t output_shift;      /* -31 ... 7 */
} kibi_batch_matmul_s16_params;

/* BATCH_MATMUL of int16s: products of matrices.
 * output: [matrix_count][rows][columns]; does not overlap an input row.
 * rows: pointers1 pointers to pieces of input 1, then those of input 2.
 * scratch: none. */
void kibi_batch_matmul_s16(int16_t *output, const int16_t *const *rows, const kibi_batch_matmul_s16_params *params,
                           void *scratch);

typedef struct {
    /* [matrix_count][4]: pointer and element at which each of input 1, then of input 2, begins */
    const int32_t *matrices;
    int32_t matrix_count;
    int32_t rows;              /* of a product */
    int32_t columns;           /* of a product */
    int32_t depth;             /* elements that are multiplied and added up */
    int32_t pointers1;         /* pointers to pieces of input 1; those of input 2 follow */
    int32_t row_pointers;      /* pointers from one row of input 1 to the next */
    int32_t depth1_pointers;   /* pointers from one element of a row of input 1 to the next */
    int32_t depth2_pointers;   /* pointers from one element of a column of input 2 to the next */
    int32_t column_pointers;   /* pointers from one column of input 2 to the next */
    int32_t row_step;          /* elements from one row of input 1 to the next; 0 where row_pointers is not */
    /* elements from one element of a row of input 1 to the next; 0 where depth1_pointers is not */
    int32_t depth1_step;
    /* elements from one element of a column of input 2 to the next; 0 where depth2_pointers is not */
    int32_t depth2_step;
    int32_t column_step;       /* elements from one column of input 2 to the next; 0 where column_pointers is not */
    int32_t output_multiplier; /* 0 ... 2**31 - 1 */
    int32_t output_shift;      /* -31 ... 30 */
    int32_t zero_point1;       /* of input 1 */
    int32_t zero_point2;       /* of input 2 */
    int32_t output_zero_point;
} kibi_batch_matmul_s8_params;

/* BATCH_MATMUL of int8s: products of matrices.
 * output: [matrix_count][rows][columns]; does not overlap an input row.
 * rows: pointers1 pointers to pieces of input 1, then those of input 2.
 * scratch: none. */
void kibi_batch_matmul_s8(int8_t *output, const int8_t *const *rows, const kibi_batch_matmul_s8_params *params,
                          void *scratch);

#endif
