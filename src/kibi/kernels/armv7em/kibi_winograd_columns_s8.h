/* Winograd's F(2,3): what columns become before they are multiplied. */
#ifndef KIBI_WINOGRAD_COLUMNS_S8_H
#define KIBI_WINOGRAD_COLUMNS_S8_H

#include "kibi.h"

/* Tiles of the columns a, b, c, d, each of which begins with the last two of that before it. Four planes, of b + c, c - b,
 * d - b and a - c, each [groups of four elements][tiles][4] with 16 bits: of each four first the even, then the odd ones.
 * Returns where the next row's first plane begins.
 * to: the first plane; each of the others is plane_bytes after the one before.
 * from: the first column, which the others follow at that distance in bytes; or, where the distance is 0, eight pointers, of
 * which two tiles use six.
 * count: elements of each, a positive multiple of 4. */
int16_t *kibi_winograd_columns_s8(int16_t *to, const void *from, int32_t count, int32_t plane_bytes, int32_t tiles,
                                  int32_t distance);

#endif
