/* CAST to bool, portable. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_unary.h"

#include <string.h>

void kibi_cast_any_bool(void *output, const void *const *rows, const kibi_cast_any_bool_params *params, void *scratch)
{
    const kibi_cast_any_bool_params *const p = params;
    const uint8_t *input = (const uint8_t *)rows[0];
    uint8_t *const made = (uint8_t *)output;
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        uint32_t bits = 0;
        if (p->is_float != 0) {
            uint32_t word;
            (void)memcpy(&word, input, sizeof word);
            bits = word & 0x7FFFFFFFu; /* without the sign */
        } else {
            for (int32_t byte = 0; byte < p->bytes; ++byte) {
                bits |= input[byte];
            }
        }
        made[i] = (uint8_t)(bits != 0);
        input += p->bytes;
    }
}
