/* EMBEDDING_LOOKUP, GATHER, any type, portable. Source of the rule: TFLM, micro/kernels/embedding_lookup.cc and gather.cc. */
#include "kibi_gather_any.h"

#include <string.h>

static inline int32_t number_at(const void *const *numbers, int32_t place, int32_t row_elements)
{
    return ((const int32_t *)numbers[place / row_elements])[place % row_elements];
}

void kibi_gather_any(void *output, const void *const *rows, const kibi_gather_any_params *params, void *scratch)
{
    const kibi_gather_any_params *const p = params;
    const void *const *const table = rows + p->table;
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    for (int32_t part = 0; part < p->batches * p->outer; ++part) {
        const int32_t first = part / p->outer * p->lookups;
        for (int32_t i = 0; i < p->lookups; ++i) {
            const int32_t number = number_at(rows + p->numbers, first + i, p->number_row_elements);
            const int32_t is_there = number >= 0 && number < p->items;
            for (int32_t piece = 0; piece < p->pieces; ++piece, to += p->bytes) {
                if (is_there) {
                    const int32_t at = ((part * p->items + number) * p->pieces + piece) * p->bytes;
                    memcpy(to, (const uint8_t *)table[at / p->row_bytes] + at % p->row_bytes, (size_t)p->bytes);
                } else {
                    memset(to, 0, (size_t)p->bytes);
                }
            }
        }
    }
}
