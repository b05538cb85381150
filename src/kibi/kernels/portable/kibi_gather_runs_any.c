/* Moved elements, any type, portable: runs of neighbouring elements, one after another. */
#include "kibi_gather_runs.h"

#include <string.h>

void kibi_gather_runs_any(void *output, const void *const *rows, const kibi_gather_runs_any_params *params,
                          void *scratch)
{
    const kibi_gather_runs_any_params *const p = params;
    uint8_t *to = (uint8_t *)output;
    const int32_t run = p->elements * p->bytes;
    (void)scratch;
    for (int32_t o = 0; o < p->outer_count; ++o) {
        for (int32_t i = 0; i < p->inner_count; ++i, to += run) {
            const uint8_t *const row = (const uint8_t *)rows[KIBI_AT(int32_t, p, outer)[2 * o] + KIBI_AT(int32_t, p,
                                                                                                         inner)[2 * i]];
            const int32_t place = KIBI_AT(int32_t, p, outer)[2 * o + 1] + KIBI_AT(int32_t, p, inner)[2 * i + 1];
            if (row != NULL && place >= 0) {
                memmove(to, row + place * p->bytes, (size_t)run);
            } else {
                for (int32_t k = 0; k < run; k += p->bytes) {
                    memcpy(to + k, KIBI_AT(int8_t, p, filler), (size_t)p->bytes);
                }
            }
        }
    }
}
