/* Values of packed indices. A function of its own, so that its loop has all registers. */
#ifndef KIBI_CODEBOOK_S8_H
#define KIBI_CODEBOOK_S8_H

#include "kibi.h"

/* Writes `count` values of a table. Their indices have `bits` bits each (1 … 7), from the highest bit of each byte to the
 * lowest; the first is number `first` of those that begin at `indices`. No byte after the last index is read. */
void kibi_codebook_s8(int8_t *to, const int8_t *indices, const int8_t *table, int32_t bits, int32_t first, int32_t count);

#endif
