/* Bytes of six columns as 16 bits each. */
#ifndef KIBI_WIDEN6_COLUMNS_S8_H
#define KIBI_WIDEN6_COLUMNS_S8_H

#include "kibi.h"

/* [groups of four elements][2][columns][2]: of each group first the even elements of all columns, then what
 * kibi_packed_pairs_s8.h takes for the odd ones: 256 * the element - the one before + 127. Returns what is after them.
 * from: the first column, which the others follow at that distance in bytes; or, where the distance is 0, six pointers.
 * count: elements of each, a positive multiple of 4. */
int16_t *kibi_widen6_columns_s8(int16_t *to, const void *from, int32_t distance, int32_t count);

#endif
