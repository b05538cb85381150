/* FULLY_CONNECTED with a filter of int4, int8, from words for four elements. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_add_int4_fours_s8.h"
#include "kibi_fully_connected_int4.h"

void kibi_fully_connected_s8_int4_blocks(int8_t *output, const int8_t *const *rows,
                                         const kibi_fully_connected_s8_int4_params *params, void *scratch)
{
    (void)scratch;
    kibi_int4_vectors(output, rows, params, kibi_add_int4_fours_s8, 1);
}
