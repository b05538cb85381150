/* Writes weights while inference runs: the fences at the end of a file say which they are, and which runs read them. kibi_model_open has
 * proved that nothing on which it relies is among them. */
#include "kibi_weights.h"

#if KIBI_CORE_WEIGHTS

#include "kibi_runs.h"

/* At -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

#define DIGEST_BYTES 32u

kibi_status kibi_weights_write(kibi_model *model, uint32_t offset, void *bytes, uint32_t count, uint32_t *until)
{
    const kibi_status status = bytes == NULL ? KIBI_ERROR_NULL : kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    const kibi_file_header *const header = kibi_header_of(model);
    const kibi_file_fence *fence = (const kibi_file_fence *)kibi_at(model, header->file_bytes - DIGEST_BYTES);
    const uint32_t end = offset + count;
    if (header->fences == 0 || offset < sizeof *header || offset >= end || end > fence[-1].end) {
        return kibi_refused(KIBI_ERROR_ACCESS);
    }
    const uint32_t run = model->place.run, begun = run + (model->place.done != 0); /* runs that begin before it have begun */
    if (begun != 0) { /* an inference that begins sees no old bytes */
        uint32_t wait = 0;
        int32_t ended = model->ended;
        fence -= header->fences;
        do {
            if (fence->end <= offset) {
                continue;
            }
            if (fence->first < begun) {
                ended |= KIBI_TAG_OLD;
            }
            if (run < fence->last && wait < fence->until) {
                wait = fence->until;
            }
        } while (fence++->end < end);
        if (wait != 0) {
            if (until != NULL) {
                *until = wait;
                return KIBI_PAUSED;
            }
            ended |= KIBI_TAG_NEW;
        }
        model->ended = ended;
    }
    uint8_t *to = (uint8_t *)(uintptr_t)model->file + offset, *from = (uint8_t *)bytes;
    do {
        const uint8_t byte = *to;
        *to++ = *from;
        *from++ = byte;
    } while (--count != 0);
    return KIBI_OK;
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
