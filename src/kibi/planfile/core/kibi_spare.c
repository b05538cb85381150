/* Bytes of an arena that are free between two slices. */
#include "kibi_spare.h"

#include "kibi_lease.h"
#include "kibi_lives.h"

kibi_status kibi_model_spare(const kibi_model *model, uint32_t steps, void **from, size_t *bytes)
{
    const kibi_status status = kibi_ready(model);
    kibi_span span;
    uint32_t free = 0, first = 0, most = 0;
    if (status != KIBI_OK || from == NULL || bytes == NULL) {
        return kibi_refused(status != KIBI_OK ? status : KIBI_ERROR_NULL);
    }
    if (KIBI_CORE_LEASE != 0 && !kibi_lease_holds(model)) {
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    const uint32_t all = ((const kibi_file_header *)(const void *)model->file)->arena_bytes;
    kibi_span_of(&span, model, steps);
    while (free < all && all - free > most) {
        uint32_t end;
        const uint32_t found = kibi_occupied(&span, free, &end);
        const uint32_t next = found < all ? found : all;
        if (next - free > most) {
            first = free;
            most = next - free;
        }
        free = found < all ? end : all;
    }
    *from = model->arena + first;
    *bytes = most;
    return KIBI_OK;
}
