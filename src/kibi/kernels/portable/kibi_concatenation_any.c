/* CONCATENATION, PACK, any type, portable. Source of the rule: TFLM, micro/kernels/concatenation.cc and pack.cc. */
#include "kibi_concatenation_any.h"

#include "kibi_move_bytes.h"

void kibi_concatenation_any(void *output, const void *const *rows, const kibi_concatenation_any_params *params, void *scratch)
{
    const int32_t *const pieces = KIBI_AT(int32_t, params, pieces);
    const int32_t *const end = pieces + 2 * params->inputs;
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    for (int32_t turn = 0; turn < params->repeats; ++turn) {
        const void *const *row = rows;
        for (const int32_t *input = pieces; input != end; input += 2) {
            const int32_t bytes = input[1];
            for (const void *const *const last = row + input[0]; row != last; ++row) {
                if (*row != NULL) {
                    to = kibi_move_bytes(to, (const uint8_t *)*row + turn * bytes, bytes);
                }
            }
        }
    }
}
