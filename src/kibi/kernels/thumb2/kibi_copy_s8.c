/* RESHAPE, int8, Thumb-2: the pieces of an output row, one after another; those that follow one another in memory are one. */
#include "kibi_copy.h"

#include "kibi_move_bytes.h"

void kibi_copy_s8(int8_t *output, const int8_t *const *rows, const kibi_copy_params *params, void *scratch)
{
    const int8_t *const *const rows_end = rows + params->pieces;
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    while (rows != rows_end) {
        const int8_t *const from = *rows;
        const int8_t *end = from;
        do {
            end += params->elements;
            ++rows;
        } while (rows != rows_end && *rows == end);
        to = kibi_move_bytes(to, from, (int32_t)(end - from));
    }
}
