/* Copies of bytes that may overlap. */
#ifndef KIBI_MOVE_BYTES_H
#define KIBI_MOVE_BYTES_H

#include <string.h>

#include "kibi.h"

/* Copies bytes as if all were read before the first is written. Returns what is after the copy. */
static inline uint8_t *kibi_move_bytes(void *to, const void *from, int32_t count)
{
    (void)memmove(to, from, (size_t)count);
    return (uint8_t *)to + count;
}

#endif
