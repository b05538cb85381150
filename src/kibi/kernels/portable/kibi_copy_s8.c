/* RESHAPE, int8, portable: the pieces of an output row, one after another. */
#include "kibi_copy_s8.h"

#include <string.h>

void kibi_copy_s8(int8_t *output, const int8_t *const *rows, const kibi_copy_s8_params *params, void *scratch)
{
    (void)scratch;
    for (int32_t piece = 0; piece < params->pieces; ++piece) {
        memmove(output, rows[piece], (size_t)params->elements * sizeof(*output));
        output += params->elements;
    }
}
