/* EMBEDDING_LOOKUP, any type, portable. Source of the rule: TFLM, micro/kernels/embedding_lookup.cc. */
#include "kibi_embedding_lookup_any.h"

#include <string.h>

void kibi_embedding_lookup_any(void *output, const void *const *rows,
                               const kibi_embedding_lookup_any_params *params, void *scratch)
{
    const kibi_embedding_lookup_any_params *const p = params;
    const int32_t *const numbers = (const int32_t *)rows[0];
    const int32_t bytes = p->elements * p->bytes;
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    for (int32_t i = 0; i < p->lookups; ++i) {
        const int32_t number = numbers[i];
        for (int32_t piece = 0; piece < p->pieces; ++piece, to += bytes) {
            if (number < 0 || number >= p->items) {
                memset(to, 0, (size_t)bytes);
                continue;
            }
            const int32_t at = (number * p->pieces + piece) * p->elements;
            const uint8_t *const row = (const uint8_t *)rows[1 + at / p->row_elements];
            memcpy(to, row + at % p->row_elements * p->bytes, (size_t)bytes);
        }
    }
}
