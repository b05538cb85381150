/* PART, any type, portable: a copy of bytes. */
#include "kibi_part_any.h"

#include <string.h>

void kibi_part_any(void *output, const void *const *rows, const kibi_part_any_params *params, void *scratch)
{
    (void)scratch;
    memcpy(output, (const uint8_t *)rows[0] + params->offset, (size_t)params->bytes);
}
