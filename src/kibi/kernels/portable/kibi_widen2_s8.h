/* Bytes of two arrays as 16 bits each, side by side, for weights in packed pairs. */
#ifndef KIBI_WIDEN2_S8_H
#define KIBI_WIDEN2_S8_H

#include "kibi.h"

/* Four elements of each array, and so on: first the even ones of all arrays, then of all 256 * the odd one - the one before
 * + 127. Returns what is after them.
 * from: two arrays.
 * count: elements of each, a positive multiple of 4. */
int16_t *kibi_widen2_s8(int16_t *to, const int8_t *const *from, int32_t count);

#endif
