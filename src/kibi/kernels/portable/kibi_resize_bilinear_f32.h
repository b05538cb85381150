/* RESIZE_BILINEAR of floats: one image. */
#ifndef KIBI_RESIZE_BILINEAR_F32_H
#define KIBI_RESIZE_BILINEAR_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* output: [row_count][column_count][channels]; may not overlap an input row.
 * rows: as many pointers as the tables name, none null.
 * scratch: none. */
void kibi_resize_bilinear_f32(float *output, const float *const *rows, const kibi_resize_bilinear_f32_params *params,
                              void *scratch);

#ifdef __cplusplus
}
#endif

#endif
