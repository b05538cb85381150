/* CONCATENATION, PACK, any type, portable. Source of the rule: TFLM, micro/kernels/concatenation.cc and pack.cc. */
#include "kibi_concatenation_any.h"

#include "kibi_move_bytes.h"

void kibi_concatenation_any(void *output, const void *const *rows, const kibi_concatenation_any_params *params, void *scratch)
{
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    for (int32_t turn = 0; turn < params->repeats; ++turn) {
        const void *const *row = rows;
        for (int32_t input = 0; input < params->inputs; ++input) {
            const int32_t bytes = KIBI_AT(int32_t, params, pieces)[2 * input + 1];
            for (int32_t piece = 0; piece < KIBI_AT(int32_t, params, pieces)[2 * input]; ++piece, ++row) {
                if (*row != NULL) {
                    to = kibi_move_bytes(to, (const uint8_t *)*row + turn * bytes, bytes);
                }
            }
        }
    }
}
