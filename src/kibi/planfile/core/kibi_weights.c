/* Writes weights while inference runs: what kibi_model_open has proved still holds, and which steps read them is known. */
#include "kibi_weights.h"

#if KIBI_CORE_WEIGHTS

#include "kibi_check.h"
#include "kibi_kernels.h"
#include "kibi_lease.h"

void kibi_use(const kibi_checker *c, uint32_t offset, uint32_t bytes, uint32_t part)
{
    kibi_written *const w = c->written;
    const uint32_t end = offset + bytes;
    if (offset < w->end && w->first < end) {
        w->used |= part;
        if (offset <= w->covered && w->covered < end) {
            w->covered = end;
        }
    }
}

int kibi_node_reads(const kibi_checker *c, const kibi_file_node *node)
{
    kibi_written *const w = c->written;
    const uint32_t used = w->used;
    w->part = KIBI_PART_FIXED;
    w->used = used & ~(uint32_t)KIBI_PART_CONSTANT;
    return (used & ((node->flags & KIBI_KIND_CONTROLS) != 0 ? KIBI_PART_CONSTANT | KIBI_PART_INNER : KIBI_PART_CONSTANT)) != 0;
}

void kibi_use_run(const kibi_checker *c, const kibi_run *run, uint32_t begin)
{
    const uint32_t runs = c->graph->runs;
    if (begin == 0) {
        c->written->steps = 0;
        kibi_use(c, runs, c->graph->runs_end - runs, KIBI_PART_FIXED);
    }
    for (const uint8_t *entry = run->entries; KIBI_WIDTH(c->graph) == 1u && entry < run->next; ++entry) {
        kibi_use(c, runs - KIBI_TABLE_BYTES + 2u * *entry, 2, KIBI_PART_FIXED);
    }
}

void kibi_use_step(const kibi_checker *c, uint32_t begin, uint32_t further, int reads)
{
    kibi_written *const w = c->written;
    ++w->steps;
    if (!reads && (w->used & KIBI_PART_CONSTANT) == 0) {
        return;
    }
    w->used &= ~(uint32_t)KIBI_PART_CONSTANT;
    if (c->graph != w->model->graph) {
        w->used |= KIBI_PART_INNER;
    } else if (begin < w->model->place.run || (begin == w->model->place.run && further < w->model->place.done)) {
        w->tags |= KIBI_TAG_OLD;
    } else {
        w->tags |= KIBI_TAG_NEW;
        w->until = w->until < w->steps ? w->steps : w->until;
    }
}

static KIBI_NOINLINE void exchange(uint8_t *one, uint8_t *other, uint32_t count)
{
    for (; count != 0; --count) {
        const uint8_t byte = *one;
        *one++ = *other;
        *other++ = byte;
    }
}

/* Whether the file of an open model is right, but for its digest. */
static KIBI_NOINLINE int is_right(kibi_written *w)
{
    const kibi_model *const model = w->model;
    const kibi_file_header *const header = kibi_header_of(model);
    kibi_model copy;
    return kibi_open_checked(&copy, header, header->file_bytes, &kibi_core_checked_kernels,
                             model->arena - KIBI_LEAD_BYTES(header), UINT32_MAX, w) == KIBI_OK;
}

kibi_status kibi_weights_write(kibi_model *model, uint32_t offset, void *bytes, uint32_t count, uint32_t *until)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK || bytes == NULL) {
        return kibi_refused(status != KIBI_OK ? status : KIBI_ERROR_NULL);
    }
    if (model->kernels != kibi_core_checked_kernels.kernels) {
        return kibi_refused(KIBI_ERROR_KERNEL);
    }
    kibi_written w = {model, offset, offset + count, offset, KIBI_PART_FIXED, 0, 0, 0, 0};
    uint8_t *const to = (uint8_t *)(uintptr_t)model->file + offset;
    /* Constants are inside the file; so is what they cover. */
    if (w.end < offset || offset < sizeof(kibi_file_header) || !is_right(&w) || (w.used & KIBI_PART_FIXED) != 0 ||
        w.covered < w.end) {
        return kibi_refused(KIBI_ERROR_ACCESS);
    }
    const int32_t tags = (model->place.run | model->place.done) == 0 ? 0 : w.tags; /* an inference that begins sees no old bytes */
    if (until != NULL && (tags & KIBI_TAG_NEW) != 0) {
        *until = w.until;
        return KIBI_PAUSED;
    }
    exchange(to, (uint8_t *)bytes, count);
    w.end = 0; /* nothing more is to be written */
    if (!is_right(&w)) {
        exchange(to, (uint8_t *)bytes, count);
        return kibi_refused(KIBI_ERROR_ACCESS);
    }
    model->ended |= tags;
    return KIBI_OK;
}

#endif
