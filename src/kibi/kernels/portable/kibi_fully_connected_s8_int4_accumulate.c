/* FULLY_CONNECTED with a filter of int4, int8, row after row, portable. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_add_int4_s8.h"
#include "kibi_fully_connected_int4.h"

void kibi_fully_connected_s8_int4_accumulate(int8_t *output, const int8_t *const *rows,
                                             const kibi_fully_connected_s8_int4_accumulate_params *params, void *scratch,
                                             int32_t step)
{
    kibi_int4_row(output, rows[0], params, (int32_t *)scratch, step, kibi_int4_words(params->piece), kibi_add_int4_s8, 0);
}
