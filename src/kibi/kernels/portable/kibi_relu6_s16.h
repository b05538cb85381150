/* RELU6: one output row; scale and zero point stay. */
#ifndef KIBI_RELU6_S16_H
#define KIBI_RELU6_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
    int32_t zero_point;
    int32_t six;      /* the element that represents 6 */
} kibi_relu6_s16_params;

/* output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_relu6_s16(int16_t *output, const int16_t *const *rows, const kibi_relu6_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
