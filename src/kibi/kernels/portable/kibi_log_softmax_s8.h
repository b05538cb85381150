/* LOG_SOFTMAX of int8: one output row, a vector or several. */
#ifndef KIBI_LOG_SOFTMAX_S8_H
#define KIBI_LOG_SOFTMAX_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t vectors;             /* of a row */
    int32_t depth;               /* elements of a vector, 1 ... 2048 */
    /* [differences], exp of the scaled differences 0, -1, ... as Q0.31; that of others counts as 0 */
    const int32_t *exponentials;
    int32_t differences;         /* 1 ... 256 */
    int32_t multiplier;          /* brings differences to Q5.26: 2**30 ... 2**31 - 1 */
    int32_t shift;               /* 1 ... 30 */
    int32_t inverse_multiplier;  /* brings them back: 2**30 ... 2**31 - 1 */
    int32_t inverse_shift;       /* -31 ... 0 */
    int32_t least_difference;    /* differences up to this one, below 0, give -128 */
} kibi_log_softmax_s8_params;

/* output: [vectors][depth], scale 1/16, zero point 127; may be the input row itself, or begin below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_log_softmax_s8(int8_t *output, const int8_t *const *rows, const kibi_log_softmax_s8_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
