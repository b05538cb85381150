/* Bytes of four columns as 16 bits each, side by side. */
#ifndef KIBI_WIDEN4_COLUMNS_S8_H
#define KIBI_WIDEN4_COLUMNS_S8_H

#include "kibi.h"

/* Four elements of each column in turn, and so on: of each four first the even ones, then what
 * kibi_packed_pairs_s8.h takes for the odd ones: 256 * the element - the one before + 127. Returns what is after them.
 * from: the first column, which the others follow at that distance in bytes; or, where the distance is 0, four pointers.
 * count: elements of each, a positive multiple of 4. */
int16_t *kibi_widen4_columns_s8(int16_t *to, const void *from, int32_t distance, int32_t count);

#endif
