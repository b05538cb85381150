/* EMBEDDING_LOOKUP, GATHER, GATHER_ND, any type, portable. Source of the rule: TFLM, micro/kernels/embedding_lookup.cc,
 * gather.cc and gather_nd.cc. */
#include "kibi_gather_any.h"

#include <string.h>

/* The item that a lookup leads to; -1 where it leads to no item. */
static inline int32_t item_of(const void *const *numbers, int32_t lookup, const kibi_gather_any_params *p)
{
    int64_t item = 0;
    for (int32_t k = 0; k < p->depth; ++k) {
        const int32_t place = lookup * p->depth + k;
        const int32_t *const row = (const int32_t *)numbers[place / p->number_row_elements];
        item += (int64_t)row[place % p->number_row_elements] * KIBI_AT(int32_t, p, strides)[k];
    }
    return item >= 0 && item < p->items ? (int32_t)item : -1;
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
            const int32_t item = item_of(rows + p->numbers, first + i, p);
            for (int32_t piece = 0; piece < p->pieces; ++piece, to += p->bytes) {
                if (item >= 0) {
                    const int32_t at = ((part * p->items + item) * p->pieces + piece) * p->bytes;
                    (void)memcpy(to, (const uint8_t *)table[at / p->row_bytes] + at % p->row_bytes, (size_t)p->bytes);
                } else {
                    (void)memset(to, 0, (size_t)p->bytes);
                }
            }
        }
    }
}
