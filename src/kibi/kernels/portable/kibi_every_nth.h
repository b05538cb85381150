/* Elements of one row that are so many apart in another one. */
#ifndef KIBI_EVERY_NTH_H
#define KIBI_EVERY_NTH_H

#include "kibi.h"

/* Writes `count` elements, at least one, to places that are `step` apart. */
static inline void kibi_every_nth(int8_t *to, const int8_t *from, int32_t count, int32_t step)
{
    const int8_t *const end = from + count;
    do {
        *to = *from++;
        to += step;
    } while (from != end);
}

#endif
