/* Reductions over axes: sums, means, extremes, places of extremes, cumulative sums. */
#ifndef KIBI_REDUCTION_H
#define KIBI_REDUCTION_H

#include "kibi.h"

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
} kibi_reduction_params;

/* REDUCE_ALL: one row after another.
 * output: [output_elements] of 0 and 1, written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [size2][size3], the row `step` of the input.
 * scratch: as many bytes as the output, aligned as its elements; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */
void kibi_reduce_all_bool(uint8_t *output, const uint8_t *const *rows, const kibi_reduction_params *params,
                          void *scratch, int32_t step);

/* SUM of floats: one row after another.
 * output: [output_elements], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [size2][size3], the row `step` of the input.
 * scratch: as many bytes as the output, aligned as its elements; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */
void kibi_sum_f32(float *output, const float *const *rows, const kibi_reduction_params *params, void *scratch,
                  int32_t step);

typedef struct {
    int32_t outer;        /* product of the sizes before the axis, in one step */
    int32_t size;         /* elements along the axis */
    int32_t inner;        /* product of the sizes after the axis */
    int32_t row_elements; /* elements at each pointer */
    int32_t is_max;       /* 1: the largest, 0: the smallest */
} kibi_arg_extreme_params;

/* Each of the following:
 * output: [outer][inner], places 0 … size - 1, the first of equals; may not overlap an input row.
 * rows: pointers to [row_elements] that together hold [outer][size][inner].
 * scratch: none. */

/* ARG_MAX and ARG_MIN of float: what one step makes. */
void kibi_arg_extreme_f32(int32_t *output, const float *const *rows, const kibi_arg_extreme_params *params,
                          void *scratch);

/* ARG_MAX and ARG_MIN of int8: what one step makes. */
void kibi_arg_extreme_s8(int32_t *output, const int8_t *const *rows, const kibi_arg_extreme_params *params,
                         void *scratch);

typedef struct {
    int32_t outer;        /* product of the sizes before the axis, in one step */
    int32_t size;         /* elements along the axis */
    int32_t inner;        /* product of the sizes after the axis */
    int32_t row_elements; /* elements at each pointer */
    int32_t is_exclusive; /* 1: an element is not part of its own sum */
    int32_t is_reversed;  /* 1: sums begin at the axis's end */
} kibi_cumsum_f32_params;

/* CUMSUM of floats: what one step makes.
 * output: [outer][size][inner]; does not overlap an input row.
 * rows: pointers to [row_elements] that together hold [outer][size][inner].
 * scratch: none. */
void kibi_cumsum_f32(float *output, const float *const *rows, const kibi_cumsum_f32_params *params, void *scratch);

typedef struct {
    int32_t outer;             /* product of the sizes before the axis, in one step */
    int32_t size;              /* elements along the axis */
    int32_t inner;             /* product of the sizes after the axis */
    int32_t row_elements;      /* elements at each pointer */
    int32_t is_exclusive;      /* 1: an element is not part of its own sum */
    int32_t is_reversed;       /* 1: sums begin at the axis's end */
    int32_t zero_point;        /* of the input */
    int32_t output_multiplier; /* 0 ... 2**31 - 1 */
    int32_t output_shift;      /* -31 ... 0 */
    int32_t output_zero_point;
} kibi_cumsum_s8_params;

/* CUMSUM of int8: what one step makes.
 * output: [outer][size][inner]; does not overlap an input row.
 * rows: pointers to [row_elements] that together hold [outer][size][inner].
 * scratch: none. */
void kibi_cumsum_s8(int8_t *output, const int8_t *const *rows, const kibi_cumsum_s8_params *params, void *scratch);

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

/* MEAN of floats: row after row of the input is added up; the last call writes the whole output.
 * output: [output_elements], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [size2][size3], the row `step` of the input.
 * scratch: 4 * output_elements bytes, aligned as float; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */
void kibi_mean_f32(float *output, const float *const *rows, const kibi_mean_f32_params *params, void *scratch,
                   int32_t step);

typedef struct {
    int32_t size1;      /* rows of one part of the batch */
    int32_t size2;      /* turns of the outer loop inside a row */
    int32_t size3;      /* turns of the inner loop inside a row */
    int32_t step0;      /* how far the output index moves from part to part of the batch: 0 along reduced axes */
    int32_t step1;      /* the same from row to row */
    int32_t step2;      /* the same in each turn of the outer loop */
    int32_t step3;      /* the same in each turn of the inner loop */
    int32_t steps;      /* rows of the input */
    int32_t output_elements;
    int32_t start;      /* of each sum: -(input zero point * elements of each mean), in 32 bits that wrap */
    int32_t output_zero_point;
    int32_t multiplier; /* 0 ... 2**31 - 1; includes the division of a mean */
    int32_t shift;      /* -31 ... 30 */
} kibi_mean_params;

/* Each of the following:
 * output: [output_elements], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [size2][size3], the row `step` of the input.
 * scratch: 4 * output_elements bytes, aligned as int32_t; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */

/* MEAN of int16: row after row of the input is added up; the last call writes the whole output. */
void kibi_mean_s16(int16_t *output, const int16_t *const *rows, const kibi_mean_params *params, void *scratch,
                   int32_t step);

/* MEAN: row after row of the input is added up; the last call writes the whole output. */
void kibi_mean_s8(int8_t *output, const int8_t *const *rows, const kibi_mean_params *params, void *scratch,
                  int32_t step);

typedef struct {
    int32_t size1;  /* rows of one part of the batch */
    int32_t size2;  /* turns of the outer loop inside a row */
    int32_t size3;  /* turns of the inner loop inside a row */
    int32_t step0;  /* how far the output index moves from part to part of the batch: 0 along reduced axes */
    int32_t step1;  /* the same from row to row */
    int32_t step2;  /* the same in each turn of the outer loop */
    int32_t step3;  /* the same in each turn of the inner loop */
    int32_t steps;  /* rows of the input */
    int32_t output_elements;
    int32_t is_max; /* 1: the largest, 0: the smallest */
} kibi_reduce_extreme_params;

/* Each of the following:
 * output: [output_elements], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [size2][size3], the row `step` of the input.
 * scratch: as many bytes as the output, aligned as its elements; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */

/* REDUCE_MAX and REDUCE_MIN of float: one row after another. */
void kibi_reduce_extreme_f32(float *output, const float *const *rows, const kibi_reduce_extreme_params *params,
                             void *scratch, int32_t step);

/* REDUCE_MAX and REDUCE_MIN of int8: one row after another. */
void kibi_reduce_extreme_s8(int8_t *output, const int8_t *const *rows, const kibi_reduce_extreme_params *params,
                            void *scratch, int32_t step);

#endif
