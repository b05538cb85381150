/* SOFTMAX of int16: one output row, a vector or several. */
#ifndef KIBI_SOFTMAX_S16_H
#define KIBI_SOFTMAX_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int16_t *exponentials; /* [513], exp(10 * k / 512 - 10) in units of 2**-15 */
    const int16_t *reciprocals;  /* [513], 1 / (1 + k / 512) in units of 2**-15 */
    int32_t multiplier;          /* brings differences to units of 10/65535: 0 ... 2**31 - 1 */
    int32_t shift;               /* -31 ... 30; negative is to the right */
    int32_t vectors;             /* of a row */
    int32_t depth;               /* elements of a vector, 1 ... 65536 */
} kibi_softmax_s16_params;

/* output: [vectors][depth], scale 1/32768, zero point 0; may be the input row itself, or begin below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none; exponentials stay in the output until their sum is known. */
void kibi_softmax_s16(int16_t *output, const int16_t *const *rows, const kibi_softmax_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
