/* Elementwise int8 functions by table, portable. */
#include "kibi_unary.h"

void kibi_table_s8(int8_t *output, const int8_t *const *rows, const kibi_table_s8_params *params, void *scratch)
{
    const int8_t *const centre = KIBI_AT(int8_t, params, table) + 128;
    const int8_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = centre[input[i]];
    }
}
