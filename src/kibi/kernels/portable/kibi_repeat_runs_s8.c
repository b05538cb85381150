/* Repeated runs of int8, portable. */
#include "kibi_gather_runs.h"

#include <string.h>

enum { MOST_ELEMENTS = 32 };

void kibi_repeat_runs_s8(int8_t *output, const int8_t *const *rows, const kibi_repeat_runs_s8_params *params, void *scratch)
{
    const kibi_repeat_runs_s8_params *const p = params;
    const int32_t *outer = KIBI_AT(int32_t, p, outer);
    const int32_t *const outer_end = outer + 2 * p->outer_count;
    const size_t run_bytes = (size_t)p->elements;
    int8_t run[MOST_ELEMENTS];
    (void)scratch;
    for (; outer != outer_end; outer += 2) {
        const int8_t *const row = rows[outer[0]];
        const int32_t is_there = row != NULL && outer[1] >= 0;
        (void)memset(run, *KIBI_AT(int8_t, p, filler), run_bytes);
        for (int32_t k = 0; k < p->runs; ++k) {
            if (is_there != 0) {
                (void)memcpy(run, row + outer[1] + k * p->elements, run_bytes);
            }
            for (int32_t copy = 0; copy < p->repeats; ++copy) {
                (void)memcpy(output, run, run_bytes);
                output += p->elements;
            }
        }
    }
}
