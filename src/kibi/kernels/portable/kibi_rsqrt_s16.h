/* RSQRT of int16: one output row; zero points are 0. */
#ifndef KIBI_RSQRT_S16_H
#define KIBI_RSQRT_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements;   /* of a row */
    int32_t multiplier; /* 0 ... 2**31 - 1 */
    int32_t shift;      /* -31 ... 30; negative is to the right */
} kibi_rsqrt_s16_params;

/* output: [elements]; may be the input row itself, or begin below it; 32767 where the input is 0 or negative.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_rsqrt_s16(int16_t *output, const int16_t *const *rows, const kibi_rsqrt_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
