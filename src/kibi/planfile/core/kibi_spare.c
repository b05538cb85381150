/* Bytes of an arena that are free between two slices. */
#include "kibi_spare.h"

#include "kibi_lease.h"
#include "kibi_lives.h"
#include "kibi_runs.h"

kibi_status kibi_model_spare(const kibi_model *model, uint32_t steps, void **from, size_t *bytes)
{
    const kibi_status status = kibi_ready(model);
    kibi_parts parts;
    uint32_t first = 0, most = 0, begin = 0;
    if (status != KIBI_OK || from == NULL || bytes == NULL) {
        return kibi_refused(status != KIBI_OK ? status : KIBI_ERROR_NULL);
    }
    if (KIBI_CORE_LEASE != 0 && !kibi_lease_holds(model)) {
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    kibi_parts_of(&parts, model, steps);
    for (uint32_t part = 0; part < parts.count; ++part) { /* what nobody touches is free, too */
        if (parts.use[part] == KIBI_TAKEN) {
            begin = parts.first[part + 1u];
        } else if (parts.first[part + 1u] - begin > most) {
            first = begin;
            most = parts.first[part + 1u] - begin;
        }
    }
    *from = model->arena + first;
    *bytes = most;
    return KIBI_OK;
}
