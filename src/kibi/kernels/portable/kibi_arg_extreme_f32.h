/* ARG_MAX and ARG_MIN of float: what one step makes. */
#ifndef KIBI_ARG_EXTREME_F32_H
#define KIBI_ARG_EXTREME_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t outer;        /* product of the sizes before the axis, in one step */
    int32_t size;         /* elements along the axis */
    int32_t inner;        /* product of the sizes after the axis */
    int32_t row_elements; /* elements at each pointer */
    int32_t is_max;       /* 1: the largest, 0: the smallest */
} kibi_arg_extreme_f32_params;

/* output: [outer][inner], places 0 … size - 1, the first of equals; may not overlap an input row.
 * rows: pointers to [row_elements] that together hold [outer][size][inner].
 * scratch: none. */
void kibi_arg_extreme_f32(int32_t *output, const float *const *rows, const kibi_arg_extreme_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
