/* L2_NORMALIZATION of int8: one output row, a vector or several. */
#ifndef KIBI_L2_NORMALIZATION_S8_H
#define KIBI_L2_NORMALIZATION_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t vectors; /* of a row */
    int32_t depth;   /* elements of a vector, 1 ... 33025 */
    int32_t zero_point;
} kibi_l2_normalization_s8_params;

/* output: [vectors][depth], scale 1/128, zero point 0; may be the input row itself, or begin below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_l2_normalization_s8(int8_t *output, const int8_t *const *rows, const kibi_l2_normalization_s8_params *params,
                              void *scratch);

#ifdef __cplusplus
}
#endif

#endif
