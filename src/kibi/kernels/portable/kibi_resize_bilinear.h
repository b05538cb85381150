/* RESIZE_BILINEAR: each kernel computes one output row. */
#ifndef KIBI_RESIZE_BILINEAR_H
#define KIBI_RESIZE_BILINEAR_H

#include "kibi.h"

typedef struct {
    /* [row_count][4]: pointer and place of the first neighbour of an output row, then of its second neighbour */
    const int32_t *rows;
    const float *row_weights;    /* [row_count], of the second neighbour */
    int32_t row_count;           /* rows of the output */
    const int32_t *columns;      /* [column_count][4]: the same for an output column, to be added */
    const float *column_weights; /* [column_count], of the second neighbour */
    int32_t column_count;        /* columns of the output */
    int32_t channels;
} kibi_resize_bilinear_f32_params;

/* RESIZE_BILINEAR of floats: one image.
 * output: [row_count][column_count][channels]; may not overlap an input row.
 * rows: as many pointers as the tables name, none null.
 * scratch: none. */
void kibi_resize_bilinear_f32(float *output, const float *const *rows, const kibi_resize_bilinear_f32_params *params,
                              void *scratch);

typedef struct {
    const int32_t *rows;    /* [row_count][3]: pointers to the two neighbours, weight of the second in 1/1024 */
    int32_t row_count;      /* rows of the output that a step makes */
    /* [column_count][3]: first elements of the two neighbours in their rows, weight of the second in 1/1024 */
    const int32_t *columns;
    int32_t column_count;   /* columns of the output */
    int32_t channels;
    int32_t row_step;       /* elements of the output from row to row */
    int32_t column_step;    /* elements of the output from column to column */
} kibi_resize_bilinear_s8_params;

/* RESIZE_BILINEAR: the output rows that one step makes.
 * output: [row_count * column_count][channels], which the steps lead through; may not overlap an input row.
 * rows: as many pointers as the table names; of two neighbours one may be null: the other then counts alone.
 * scratch: none. */
void kibi_resize_bilinear_s8(int8_t *output, const int8_t *const *rows, const kibi_resize_bilinear_s8_params *params,
                             void *scratch);

#endif
