/* Bytes cut to a range, in place. */
#ifndef KIBI_CLAMP_S8_H
#define KIBI_CLAMP_S8_H

#include "kibi.h"

/* values: [count], may be misaligned. low, high: -128 … 127; high wins where the range is empty. */
void kibi_clamp_s8(int8_t *values, int32_t count, int32_t low, int32_t high);

#endif
