/* Which bytes of an arena hold something: the next step that touches a byte says it, by reading or writing it. */
#include "kibi_lives.h"

#include <string.h>

#include "kibi_runs.h"

/* Reads the run at a byte of the runs; returns at which byte the next one begins, 0 after the last one. */
static KIBI_NOINLINE uint32_t read_run(const kibi_model *model, uint32_t at, kibi_run *run)
{
    const kibi_file_graph *const graph = model->graph;
    const uint8_t *const begin = model->file + graph->runs;
    if (graph->runs + at >= graph->runs_end) {
        return 0;
    }
    *run = kibi_read_run(model->file, graph, begin + at);
    return (uint32_t)(run->next - begin);
}

uint32_t kibi_advance(const kibi_model *model, kibi_position *place, uint32_t steps)
{
    kibi_run run;
    uint32_t left = steps, next;
    while (left != 0 && (next = read_run(model, place->run, &run)) != 0) {
        const uint32_t rest = run.count - place->done;
        if (left < rest) {
            place->done += left;
            return steps;
        }
        left -= rest;
        place->run = next;
        place->done = 0;
    }
    return steps - left;
}

uint32_t kibi_steps_done(const kibi_model *model)
{
    kibi_run run;
    uint32_t steps = model->place.done;
    for (uint32_t at = 0; at < model->place.run; steps += run.count) {
        at = read_run(model, at, &run);
    }
    return steps;
}

/* Divides a part in two at a byte, if there is room for another one. */
static int divide(kibi_parts *parts, uint32_t part, uint32_t byte)
{
    if (parts->count == KIBI_CORE_PARTS) {
        return 0;
    }
    memmove(&parts->first[part + 1u], &parts->first[part], (parts->count - part + 1u) * sizeof parts->first[0]);
    memmove(&parts->use[part + 1u], &parts->use[part], parts->count - part);
    parts->first[part + 1u] = byte;
    ++parts->count;
    return 1;
}

/* Joins a part with the one before it, if both are the same. */
static void join(kibi_parts *parts, uint32_t part)
{
    if (part != 0 && part < parts->count && parts->use[part - 1u] == parts->use[part]) {
        memmove(&parts->first[part], &parts->first[part + 1u], (parts->count - part) * sizeof parts->first[0]);
        memmove(&parts->use[part], &parts->use[part + 1u], parts->count - part - 1u);
        --parts->count;
    }
}

/* Says what bytes are that no step touched before. */
static KIBI_NOINLINE void touch(kibi_parts *parts, uint32_t first, uint32_t bytes, uint8_t use)
{
    const uint32_t end = first + bytes;
    uint32_t part = 0;
    while (part < parts->count && parts->first[part + 1u] <= first) {
        ++part;
    }
    for (; part < parts->count && parts->first[part] < end; ++part) {
        if (parts->use[part] != KIBI_UNTOUCHED) {
            continue;
        }
        if (parts->first[part] < first) {
            if (!divide(parts, part, first)) {
                parts->use[part] = KIBI_TAKEN;
                continue;
            }
            ++part;
        }
        parts->use[part] = end < parts->first[part + 1u] && !divide(parts, part, end) ? KIBI_TAKEN : use;
        if (end <= parts->first[part + 1u] && part + 1u < parts->count && parts->first[part + 1u] == end) {
            join(parts, part + 1u);
        }
        const uint32_t before = parts->count;
        join(parts, part);
        part -= before != parts->count;
    }
}

/* Says what a step, `further` steps after the first one of its run, does. */
static void touch_all(kibi_parts *parts, const kibi_model *model, const kibi_run *run, uint32_t further, int is_later)
{
    const kibi_file_graph *const graph = model->graph;
    const kibi_file_node *const node = run->node;
    const kibi_file_group *group = (const kibi_file_group *)(const void *)(model->file + node->groups);
    const uint32_t inputs = (uint32_t)node->read_count + node->state_count, number = run->first + further;
    const int accumulates = (node->flags & KIBI_KIND_ACCUMULATES) != 0;
    uint32_t index = 0;
    for (uint32_t k = 0; k < inputs + node->output_count; ++k, ++group) {
        const uint8_t use = is_later && k >= inputs ? KIBI_FREE : KIBI_TAKEN;
        if (k == inputs) {
            /* What a node that accumulates has in its scratch stays from step to step. */
            touch(parts, node->scratch, node->scratch_bytes, accumulates && number != 0 ? KIBI_TAKEN : use);
            if (accumulates && number + 1u != node->steps) {
                break;
            }
        }
        for (const uint32_t end = index + group->count; index < end; ++index) {
            const uint32_t place = kibi_entry(model->file, graph, run->entries, kibi_entry_of(run, index));
            if (place < graph->arena_bytes) {
                touch(parts, place + kibi_moved(model->file, graph, run, index, further), group->bytes, use);
            }
        }
    }
}

void kibi_parts_of(kibi_parts *parts, const kibi_model *model, uint32_t steps)
{
    const kibi_file_port *port = (const kibi_file_port *)kibi_at(model, kibi_header_of(model)->ports);
    uint32_t at = model->place.run, done = model->place.done, next;
    kibi_run run;
    parts->count = 1;
    parts->first[0] = 0;
    parts->first[1] = kibi_header_of(model)->arena_bytes;
    parts->use[0] = KIBI_UNTOUCHED;
    for (; (next = read_run(model, at, &run)) != 0; at = next, done = 0) {
        for (; done < run.count; ++done) {
            touch_all(parts, model, &run, done, steps == 0);
            steps -= steps != 0;
        }
    }
    const uint32_t inputs = kibi_header_of(model)->input_count;
    port += inputs;
    for (uint32_t left = kibi_header_of(model)->port_count - inputs; left != 0; --left, ++port) { /* they are read in the end */
        if (port->memory == KIBI_MEMORY_ARENA) {
            touch(parts, port->place, port->bytes, KIBI_TAKEN);
        }
    }
}
