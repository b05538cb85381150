/* CUMSUM of floats: what one step makes. */
#ifndef KIBI_CUMSUM_F32_H
#define KIBI_CUMSUM_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t outer;        /* product of the sizes before the axis, in one step */
    int32_t size;         /* elements along the axis */
    int32_t inner;        /* product of the sizes after the axis */
    int32_t row_elements; /* elements at each pointer */
    int32_t is_exclusive; /* 1: an element is not part of its own sum */
    int32_t is_reversed;  /* 1: sums begin at the axis's end */
} kibi_cumsum_f32_params;

/* output: [outer][size][inner]; does not overlap an input row.
 * rows: pointers to [row_elements] that together hold [outer][size][inner].
 * scratch: none. */
void kibi_cumsum_f32(float *output, const float *const *rows, const kibi_cumsum_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
