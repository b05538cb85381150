/* Bytes of three arrays as 16 bits each, side by side. */
#ifndef KIBI_WIDEN3_S8_H
#define KIBI_WIDEN3_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Four elements of `a`, then four of `b`, then four of `c`, and so on: of each four first the even, then the odd ones. Returns
 * what is behind.
 * count: elements of each, a positive multiple of 4. */
int16_t *kibi_widen3_s8(int16_t *to, const int8_t *a, const int8_t *b, const int8_t *c, int32_t count);

#ifdef __cplusplus
}
#endif

#endif
