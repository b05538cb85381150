/* Winograd's F(2,3): what the columns of four tiles become before they are multiplied. */
#ifndef KIBI_WINOGRAD_FOUR_TILES_S8_H
#define KIBI_WINOGRAD_FOUR_TILES_S8_H

#include "kibi.h"

/* The planes of kibi_winograd_columns_s8 for four tiles, each [groups of four elements][2][tiles][2] with 16 bits: of each group
 * first the even elements of all tiles, then the odd ones. Returns where the next row's first plane begins.
 * to, count, plane_bytes, distance: as there.
 * from: as there; ten pointers where the distance is 0. */
int16_t *kibi_winograd_four_tiles_s8(int16_t *to, const void *from, int32_t count, int32_t plane_bytes, int32_t distance);

#endif
