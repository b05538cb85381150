/* Bytes of one value, portable. */
#include "kibi_fill_bytes.h"

#include <string.h>

void kibi_fill_bytes(int8_t *to, int32_t value, int32_t bytes)
{
    (void)memset(to, value, (size_t)bytes);
}
