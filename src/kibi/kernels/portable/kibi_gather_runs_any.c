/* Moved elements, any type, portable: runs of neighbouring elements, one after another. */
#include "kibi_gather_runs.h"

#include <string.h>

#include "kibi_move_bytes.h"

void kibi_gather_runs_any(void *output, const void *const *rows, const kibi_gather_runs_any_params *params,
                          void *scratch)
{
    const kibi_gather_runs_any_params *const p = params;
    const int32_t *const inner = KIBI_AT(int32_t, p, inner);
    const int32_t *const inner_end = inner + 2 * p->inner_count;
    const int32_t *outer = KIBI_AT(int32_t, p, outer);
    const int32_t *const outer_end = outer + 2 * p->outer_count;
    const int32_t bytes = p->bytes;
    const int32_t run = p->elements * bytes;
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    for (; outer != outer_end; outer += 2) {
        for (const int32_t *i = inner; i != inner_end; i += 2) {
            const uint8_t *const row = (const uint8_t *)rows[outer[0] + i[0]];
            const int32_t place = outer[1] + i[1];
            if (row != NULL && place >= 0) {
                kibi_move_bytes(to, row + place * bytes, run);
            } else {
                for (int32_t k = 0; k < run; k += bytes) {
                    memcpy(to + k, KIBI_AT(int8_t, p, filler), (size_t)bytes);
                }
            }
            to += run;
        }
    }
}
