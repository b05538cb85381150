/* SOFTMAX: one output row, a vector or several. */
#ifndef KIBI_SOFTMAX_S8_H
#define KIBI_SOFTMAX_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /* [differences], exp of the scaled differences 0, -1, ... as Q0.31; that of others counts as 0 */
    const int32_t *exponentials;
    int32_t differences;         /* 1 ... 256 */
    int32_t vectors;             /* of a row */
    int32_t depth;               /* elements of a vector, 1 ... 2048 */
} kibi_softmax_s8_params;

/* output: [vectors][depth], scale 1/256, zero point -128; may be the input row itself, or begin
 * below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_softmax_s8(int8_t *output, const int8_t *const *rows, const kibi_softmax_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
