/* Winograd's F(2x2, 3x3): what four tiles become before they are multiplied. */
#ifndef KIBI_ROW_PAIRS_TILES_S8_H
#define KIBI_ROW_PAIRS_TILES_S8_H

#include "kibi.h"

/* Of the columns a, b, c, d of each tile, which begins with the last two of the tile before it: the planes b + c of the four lines,
 * then c - b, then d - b, then a - c; each plane is [groups of four elements][2][4 tiles][2] with 16 bits, of each group first the
 * even elements of all tiles, then the odd ones.
 * from: lines of kibi_row_pairs_lines_s8, from the first tile's first column on.
 * group_bytes: from a group of lines to the next one. */
void kibi_row_pairs_tiles_s8(int16_t *to, const int16_t *from, int32_t groups, int32_t group_bytes);

#endif
