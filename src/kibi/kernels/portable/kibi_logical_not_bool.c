/* LOGICAL_NOT, portable. Source of the rule: TFLM, micro/kernels/elementwise.cc, LogicalNotEval. */
#include "kibi_logical_not_bool.h"

void kibi_logical_not_bool(uint8_t *output, const uint8_t *const *rows, const kibi_logical_not_bool_params *params,
                           void *scratch)
{
    const uint8_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (uint8_t)(input[i] == 0);
    }
}
