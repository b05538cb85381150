/* Moved elements, float, portable: runs of neighbouring elements, one after another. */
#include "kibi_gather_runs_f32.h"

#include <string.h>

void kibi_gather_runs_f32(float *output, const float *const *rows, const kibi_gather_runs_f32_params *params, void *scratch)
{
    const kibi_gather_runs_f32_params *const p = params;
    (void)scratch;
    for (int32_t o = 0; o < p->outer_count; ++o) {
        for (int32_t i = 0; i < p->inner_count; ++i) {
            const float *const row = rows[p->outer[2 * o] + p->inner[2 * i]];
            const int32_t place = p->outer[2 * o + 1] + p->inner[2 * i + 1];
            if (row != NULL && place >= 0) {
                memmove(output, row + place, (size_t)p->elements * sizeof(*output));
            } else {
                for (int32_t k = 0; k < p->elements; ++k) {
                    output[k] = *p->filler;
                }
            }
            output += p->elements;
        }
    }
}
