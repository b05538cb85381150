/* Windows of three rows of four pixels as 16 bits each. */
#ifndef KIBI_WIDEN4_ROWS_S8_H
#define KIBI_WIDEN4_ROWS_S8_H

#include "kibi.h"

/* The windows of four pixels, each of three rows of `whole` elements and one more: in the layout of kibi_widen4_s8 the whole elements,
 * row after row, and then those three, side by side, and a zero.
 * rows: where the first pixel's window has its rows.
 * distance: bytes from a pixel's window to the next one's.
 * whole: a positive multiple of 4. */
void kibi_widen4_rows_s8(int16_t *to, const int8_t *const *rows, int32_t distance, int32_t whole);

#endif
