/* Where neighbouring columns of a row begin. */
#ifndef KIBI_COLUMN_POINTERS_H
#define KIBI_COLUMN_POINTERS_H

#include "kibi.h"

/* `count` pointers to the columns from `start` on; all that are outside the row, 0 … width - 1, to the padding.
 * channels: elements of a column. */
static inline void kibi_column_pointers(const int8_t **columns, int32_t count, const int8_t *row, int32_t start, int32_t width,
                                        int32_t channels, const int8_t *padding)
{
    const int8_t **const end = columns + count;
    do {
        *columns++ = start >= 0 && start < width ? row + start * channels : padding;
        ++start;
    } while (columns != end);
}

#endif
