/* RESHAPE, int8, Thumb-2: the pieces of an output row, one after another. */
#include "kibi_copy.h"

#include "kibi_move_bytes.h"

void kibi_copy_s8(int8_t *output, const int8_t *const *rows, const kibi_copy_params *params, void *scratch)
{
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    for (int32_t piece = 0; piece < params->pieces; ++piece) {
        to = kibi_move_bytes(to, rows[piece], params->elements);
    }
}
