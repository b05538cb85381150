/* DYNAMIC_UPDATE_SLICE, any type, portable. Source of the rule: TFLM, micro/kernels/dynamic_update_slice.cc. */
#include "kibi_dynamic_update_slice_any.h"

#include <string.h>

enum { MOST_AXES = 8 };

/* Number k, at least 0 and at most the highest. */
static inline int32_t place(const void *numbers, int32_t k, int32_t bytes, int32_t highest)
{
    const int64_t number = bytes == 8 ? ((const int64_t *)numbers)[k] : ((const int32_t *)numbers)[k];
    return number < 0 ? 0 : number > highest ? highest : (int32_t)number;
}

void kibi_dynamic_update_slice_any(void *output, const void *const *rows,
                                   const kibi_dynamic_update_slice_any_params *params, void *scratch)
{
    const kibi_dynamic_update_slice_any_params *const p = params;
    const void *const *const update = rows + p->pointers;
    const void *const starts = update[p->update_pointers];
    uint8_t *const to = (uint8_t *)output;
    int32_t done[MOST_AXES] = {0};
    int32_t start[MOST_AXES];
    const int32_t last = p->axes - 1;
    const int32_t run = KIBI_AT(int32_t, p, update_sizes)[last] * p->bytes;
    int32_t from = 0;
    int32_t axis = 0;
    (void)scratch;
    KIBI_ASSERT(p->axes >= 1 && p->axes <= MOST_AXES);
    for (int32_t row = 0; row < p->pointers; ++row) {
        (void)memmove(to + row * p->row_bytes, rows[row], (size_t)p->row_bytes);
    }
    for (int32_t k = 0; k <= last; ++k) {
        start[k] = place(starts, k, p->index_bytes,
                         KIBI_AT(int32_t, p, sizes)[k] - KIBI_AT(int32_t, p, update_sizes)[k]);
    }
    while (axis >= 0) {
        int32_t at = 0;
        for (int32_t k = 0; k <= last; ++k) {
            at = at * KIBI_AT(int32_t, p, sizes)[k] + start[k] + done[k];
        }
        const uint8_t *const row = (const uint8_t *)update[from / p->update_row_bytes];
        (void)memcpy(to + at * p->bytes, row + from % p->update_row_bytes, (size_t)run);
        from += run;
        for (axis = last - 1; axis >= 0; --axis) {
            if (++done[axis] < KIBI_AT(int32_t, p, update_sizes)[axis]) {
                break;
            }
            done[axis] = 0;
        }
    }
}
