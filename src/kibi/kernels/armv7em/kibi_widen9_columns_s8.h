/* Bytes of three of nine columns as 16 bits each. */
#ifndef KIBI_WIDEN9_COLUMNS_S8_H
#define KIBI_WIDEN9_COLUMNS_S8_H

#include "kibi.h"

/* [groups of four elements][2][9][2], of which three neighbouring columns are written: of each group first the even elements of all columns,
 * then what kibi_packed_pairs_s8.h takes for the odd ones: 256 * the element - the one before + 127. Returns what is after the last
 * group, from the same column on.
 * to: where the first of the three columns is in the first group.
 * columns: three pointers.
 * count: elements of each, a positive multiple of 4. */
int16_t *kibi_widen9_columns_s8(int16_t *to, const int8_t *const *columns, int32_t count);

#endif
