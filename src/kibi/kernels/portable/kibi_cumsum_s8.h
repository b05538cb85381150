/* CUMSUM of int8: what one step makes. */
#ifndef KIBI_CUMSUM_S8_H
#define KIBI_CUMSUM_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* output: [outer][size][inner]; does not overlap an input row.
 * rows: pointers to [row_elements] that together hold [outer][size][inner].
 * scratch: none. */
void kibi_cumsum_s8(int8_t *output, const int8_t *const *rows, const kibi_cumsum_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
