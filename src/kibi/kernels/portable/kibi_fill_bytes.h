/* Bytes of one value. */
#ifndef KIBI_FILL_BYTES_H
#define KIBI_FILL_BYTES_H

#include "kibi.h"

/* Writes a value to `bytes` bytes, at least 1. */
void kibi_fill_bytes(int8_t *to, int32_t value, int32_t bytes);

#endif
