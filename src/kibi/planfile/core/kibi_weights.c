/* Writes weights while inference runs: what kibi_model_open has proved still holds, and which steps read them is known. */
#include "kibi_weights.h"

#if KIBI_CORE_WEIGHTS

#include "kibi_check.h"
#include "kibi_kernels.h"
#include "kibi_lives.h"
#include "kibi_runs.h"

#define DIGEST_BYTES 32u

/* Looks at the rows of a step that are in the file. */
static void find_rows(const kibi_checker *c, const kibi_run *run, uint32_t further)
{
    const kibi_file_graph *const graph = c->graph;
    const kibi_file_group *group = (const kibi_file_group *)(const void *)(c->file + run->node->groups);
    const kibi_file_place *const places = (const kibi_file_place *)(const void *)(c->file + graph->places);
    uint32_t index = 0;
    for (const kibi_file_group *const end = group + run->node->read_count; group < end; ++group) {
        for (const uint32_t last = index + group->count; index < last; ++index) {
            const uint32_t number = kibi_entry(c->file, graph, run->entries, index);
            const kibi_file_place *const place = places + (number - graph->arena_bytes);
            if (number >= graph->arena_bytes && place->memory == KIBI_MEMORY_FILE) {
                const uint32_t moved = further == 0 ? 0 : kibi_moved(c->file, graph, run, index, further);
                (void)kibi_is_inside(c, place->offset + moved, group->bytes, 1);
            }
        }
    }
}

void kibi_find_steps(const kibi_checker *c, const kibi_file_node *node)
{
    kibi_written *const w = c->written;
    kibi_model model = *w->model;
    kibi_run run;
    const uint32_t inner = (node->flags & KIBI_KIND_CONTROLS) != 0 ? KIBI_PART_INNER : 0u;
    const uint32_t always = w->used & (KIBI_PART_CONSTANT | inner);
    uint32_t steps = 0, next;
    model.graph = c->graph;
    for (uint32_t at = 0; (next = kibi_run_at(&model, at, &run)) != 0; at = next) {
        w->part = KIBI_PART_FIXED;
        (void)kibi_is_inside(c, c->graph->runs + at, next - at, 1);
        if (KIBI_WIDTH(c->graph) == 1u) {
            for (const uint8_t *entry = run.entries; entry < run.next; ++entry) {
                (void)kibi_is_inside(c, c->graph->runs - KIBI_TABLE_BYTES + 2u * *entry, 2, 1);
            }
        }
        w->part = KIBI_PART_CONSTANT;
        for (uint32_t further = 0; further < run.count; ++further, ++steps) {
            if (run.node != node) {
                continue;
            }
            w->used = (w->used & ~(uint32_t)KIBI_PART_CONSTANT) | always;
            find_rows(c, &run, further);
            if ((w->used & (KIBI_PART_CONSTANT | inner)) == 0) {
                continue;
            }
            if (c->graph != w->model->graph) {
                w->used |= KIBI_PART_INNER;
            } else if (at < w->model->place.run || (at == w->model->place.run && further < w->model->place.done)) {
                w->tags |= KIBI_TAG_OLD;
            } else {
                w->tags |= KIBI_TAG_NEW;
                w->until = steps + 1u > w->until ? steps + 1u : w->until;
            }
        }
    }
    w->used &= ~(uint32_t)KIBI_PART_CONSTANT;
    w->part = KIBI_PART_FIXED;
}

static void exchange(uint8_t *one, uint8_t *other, uint32_t count)
{
    for (; count != 0; --count) {
        const uint8_t byte = *one;
        *one++ = *other;
        *other++ = byte;
    }
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
    kibi_written w = {model, offset, offset + count, offset, KIBI_PART_FIXED, 0, 0, 0};
    uint8_t *const to = (uint8_t *)(uintptr_t)model->file + offset;
    kibi_checker c;
    c.file = model->file;
    c.header = (const kibi_file_header *)(const void *)model->file;
    c.end = c.header->file_bytes - DIGEST_BYTES;
    c.kernels = model->kernels;
    c.contracts = kibi_core_checked_kernels.contracts;
    c.marks = NULL;
    c.written = NULL;
    if (offset < sizeof *c.header || !kibi_is_inside(&c, offset, count, 1)) {
        return kibi_refused(KIBI_ERROR_ACCESS);
    }
    c.written = &w;
    if (!kibi_file_holds(&c) || (w.used & KIBI_PART_FIXED) != 0 || w.covered < w.end) {
        return kibi_refused(KIBI_ERROR_ACCESS);
    }
    if ((model->place.run | model->place.done) == 0) {
        w.tags = 0; /* all of the next inference reads the new bytes */
    } else if (until != NULL && (w.tags & KIBI_TAG_NEW) != 0) {
        *until = w.until;
        return KIBI_PAUSED;
    }
    exchange(to, (uint8_t *)bytes, count);
    c.written = NULL;
    if (!kibi_file_holds(&c)) {
        exchange(to, (uint8_t *)bytes, count);
        return kibi_refused(KIBI_ERROR_ACCESS);
    }
    model->ended |= w.tags;
    return KIBI_OK;
}

#endif
