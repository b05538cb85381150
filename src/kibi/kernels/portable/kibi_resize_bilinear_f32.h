/* RESIZE_BILINEAR of floats: a part of the batch. */
#ifndef KIBI_RESIZE_BILINEAR_F32_H
#define KIBI_RESIZE_BILINEAR_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int32_t *rows; /* [row_count][4]: pointer and element of the rows above and below */
    const float *down;   /* [row_count]: weight of the one below; the other's is 1 less it */
    int32_t row_count;
    const int32_t *columns; /* [column_count][4]: pointer and element, to be added, of the columns on the left and on the right */
    const float *across;    /* [column_count]: weight of the one on the right */
    int32_t column_count;
    int32_t channels;
} kibi_resize_bilinear_f32_params;

/* output: [row_count][column_count][channels]; does not overlap an input row.
 * rows: as many pointers as the tables name.
 * scratch: none. */
void kibi_resize_bilinear_f32(float *output, const float *const *rows, const kibi_resize_bilinear_f32_params *params,
                              void *scratch);

#ifdef __cplusplus
}
#endif

#endif
