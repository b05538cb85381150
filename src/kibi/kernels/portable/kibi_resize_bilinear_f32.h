/* RESIZE_BILINEAR of floats: one image. */
#ifndef KIBI_RESIZE_BILINEAR_F32_H
#define KIBI_RESIZE_BILINEAR_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int32_t *rows;        /* [row_count][4]: pointer and place of the neighbour in front, and of the one behind */
    const float *row_weights;   /* [row_count], of the one behind */
    int32_t row_count;
    const int32_t *columns;     /* [column_count][4]: the same, to be added */
    const float *column_weights;
    int32_t column_count;
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
