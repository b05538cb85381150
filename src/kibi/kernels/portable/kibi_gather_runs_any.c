/* Moved elements, any type, portable: runs of neighbouring elements, one after another. */
#include "kibi_gather_runs.h"

#include <string.h>

#include "kibi_copy_runs.h"

void kibi_gather_runs_any(void *output, const void *const *rows, const kibi_gather_runs_any_params *params,
                          void *scratch)
{
    const kibi_gather_runs_any_params *const p = params;
    const int32_t *outer = KIBI_AT(int32_t, p, outer);
    const int32_t *const outer_end = outer + 2 * p->outer_count;
    kibi_copied_runs runs;
    runs.to = (uint8_t *)output;
    runs.entries_end = KIBI_AT(int32_t, p, inner) + 2 * p->inner_count;
    runs.element_bytes = p->bytes;
    runs.run_bytes = p->elements * p->bytes;
    (void)scratch;
    for (; outer != outer_end; outer += 2) {
        runs.rows = rows + outer[0];
        runs.place = outer[1];
        runs.entry = KIBI_AT(int32_t, p, inner);
        for (kibi_copy_all_runs(&runs); runs.entry != runs.entries_end; kibi_copy_all_runs(&runs)) {
            for (int32_t k = 0; k < runs.run_bytes; k += p->bytes) {
                (void)memcpy(runs.to + k, KIBI_AT(int8_t, p, filler), (size_t)p->bytes);
            }
            runs.to += runs.run_bytes;
            runs.entry += 2;
        }
    }
}
