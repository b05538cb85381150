/* Winograd's F(2x2, 3x3): what four rows become before their columns are added up. */
#ifndef KIBI_ROW_PAIRS_LINES_S8_H
#define KIBI_ROW_PAIRS_LINES_S8_H

#include "kibi.h"

/* Lines of the rows a, b, c, d: b + c, c - b, d - b and a - c, as [groups of four elements][columns][4 lines][4] with 16 bits: of
 * each four first the even, then the odd ones.
 * rows: pointers to the first column of each row; at least one column.
 * depth: elements of a column, a positive multiple of 4.
 * gap: bytes from the end of a group's columns to the next group's first one. */
void kibi_row_pairs_lines_s8(int16_t *to, const int8_t *const *rows, int32_t columns, int32_t depth, int32_t gap);

#endif
