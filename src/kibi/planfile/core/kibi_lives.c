/* Which bytes of an arena hold something: from the order of a plan file, what its steps read and write, and where its rows are. */
#include "kibi_lives.h"

#include <string.h>

#define NOWHERE UINT32_MAX

/* The run of bytes that is looked for. */
typedef struct {
    uint32_t from;  /* it begins here at the earliest */
    uint32_t first; /* what is known of it */
    uint32_t end;
    int grew; /* something was added in this turn */
} found_run;

static const void *at(const kibi_model *model, uint32_t offset)
{
    return model->file + offset;
}

static const kibi_file_header *header_of(const kibi_model *model)
{
    return (const kibi_file_header *)(const void *)model->file;
}

static const kibi_file_graph *graph_of(const kibi_model *model)
{
    return (const kibi_file_graph *)at(model, header_of(model)->graphs);
}

static const kibi_file_node *nodes_of(const kibi_model *model)
{
    return (const kibi_file_node *)at(model, graph_of(model)->nodes);
}

uint32_t kibi_advance(const kibi_model *model, kibi_position *place, uint32_t steps)
{
    const kibi_file_graph *const graph = graph_of(model);
    uint32_t walked = 0;
    while (place->line < graph->line_count) { /* as the core runs it */
        const kibi_file_line *const line = (const kibi_file_line *)at(model, graph->lines) + place->line;
        if (line->start >= graph->node_count) {
            if (++place->turn < line->steps) {
                place->line -= line->last;
            } else {
                place->turn = 0;
                ++place->line;
            }
            continue;
        }
        const int32_t begin = line->step + (int32_t)place->turn * line->further, after = begin + line->steps;
        while (place->node <= (uint32_t)line->last - line->start) {
            const int32_t most = (int32_t)nodes_of(model)[line->start + place->node].steps;
            const int32_t left = (after < most ? after : most) - (begin > 0 ? begin : 0) - (int32_t)place->step;
            if (left <= 0) {
                ++place->node;
                place->step = 0;
                continue;
            }
            if (walked == steps) {
                return walked;
            }
            const uint32_t count = (uint32_t)left < steps - walked ? (uint32_t)left : steps - walked;
            place->step += count;
            walked += count;
        }
        place->node = 0;
        ++place->line;
    }
    return walked;
}

/* The steps of a node that a line has run after so many turns, if that is more than `known`. */
static uint32_t steps_after(const kibi_file_line *line, uint32_t turns, uint32_t most, uint32_t known)
{
    while (turns-- != 0) { /* the last turn that has steps of this node */
        const int32_t begin = line->step + (int32_t)turns * line->further;
        const int32_t end = begin + line->steps < (int32_t)most ? begin + line->steps : (int32_t)most;
        if (end > (begin > 0 ? begin : 0)) {
            return (uint32_t)end > known ? (uint32_t)end : known;
        }
    }
    return known;
}

/* How many steps nodes from `first` on have run at a place in the order: each runs its steps once, in ascending order. */
static KIBI_NOINLINE void count_steps(const kibi_model *model, const kibi_position *place, uint32_t first, uint32_t count,
                                      uint16_t *counts)
{
    const kibi_file_graph *const graph = graph_of(model);
    const kibi_file_line *const lines = (const kibi_file_line *)at(model, graph->lines);
    const kibi_file_node *const nodes = nodes_of(model);
    uint32_t repetition = 0; /* the next one */
    memset(counts, 0, count * sizeof counts[0]);
    for (uint32_t number = 0; number < graph->line_count; ++number) {
        const kibi_file_line *const line = &lines[number];
        while (repetition < graph->line_count &&
               (repetition < number || lines[repetition].start < graph->node_count)) {
            ++repetition;
        }
        if (number == repetition) {
            continue;
        }
        uint32_t turns = number < place->line; /* that are complete */
        if (repetition < graph->line_count && repetition - number <= lines[repetition].last) {
            const uint32_t all = lines[repetition].steps > 1u ? lines[repetition].steps : 1u;
            const int is_inside = place->line + lines[repetition].last >= repetition;
            turns = place->line > repetition ? all : is_inside ? place->turn + turns : 0u;
        }
        const uint32_t low = line->start > first ? line->start : first;
        for (uint32_t node = low; node <= line->last && node - first < count; ++node) {
            const uint32_t in_line = node - line->start, most = nodes[node].steps;
            uint32_t known = counts[node - first];
            known = steps_after(line, turns + (number == place->line && in_line < place->node), most, known);
            if (number == place->line && in_line == place->node && place->step != 0) {
                const int32_t begin = line->step + (int32_t)place->turn * line->further;
                known = (uint32_t)(begin > 0 ? begin : 0) + place->step;
            }
            counts[node - first] = (uint16_t)known;
        }
    }
}

uint32_t kibi_steps_done(const kibi_model *model)
{
    const uint32_t nodes = graph_of(model)->node_count;
    uint16_t counts[KIBI_CORE_COUNTED];
    uint32_t steps = 0;
    for (uint32_t first = 0; first < nodes; first += KIBI_CORE_COUNTED) {
        const uint32_t count = nodes - first < KIBI_CORE_COUNTED ? nodes - first : KIBI_CORE_COUNTED;
        count_steps(model, &model->place, first, count, counts);
        for (uint32_t k = 0; k < count; ++k) {
            steps += counts[k];
        }
    }
    return steps;
}

void kibi_span_of(kibi_span *span, const kibi_model *model, uint32_t steps)
{
    span->model = model;
    span->now = model->place;
    span->until = model->place;
    (void)kibi_advance(model, &span->until, steps);
    count_steps(model, &span->now, 0, KIBI_CORE_COUNTED, span->done);
    count_steps(model, &span->until, 0, KIBI_CORE_COUNTED, span->due);
}

/* How many steps a node has run at the start of the part, */
static uint32_t done_of(const kibi_span *span, uint32_t node)
{
    uint16_t steps;
    if (node < KIBI_CORE_COUNTED) {
        return span->done[node];
    }
    count_steps(span->model, &span->now, node, 1, &steps);
    return steps;
}

/* and at its end. */
static uint32_t due_of(const kibi_span *span, uint32_t node)
{
    uint16_t steps;
    if (node < KIBI_CORE_COUNTED) {
        return span->due[node];
    }
    count_steps(span->model, &span->until, node, 1, &steps);
    return steps;
}

/* Adds bytes to the run, if they are the first ones, or touch it. */
static void add(found_run *run, uint32_t first, uint32_t end)
{
    first = first > run->from ? first : run->from;
    if (end <= first) {
        return;
    }
    if (first < run->first) {
        run->end = end < run->first || end > run->end ? end : run->end;
        run->first = first;
        run->grew = 1;
    } else if (first <= run->end && end > run->end) {
        run->end = end;
        run->grew = 1;
    }
}

/* Adds the rows of a tensor from `low` on and before `high`. */
static void add_rows(found_run *run, const kibi_model *model, const kibi_file_tensor *tensor, uint32_t low, uint32_t high)
{
    if (tensor->memory != KIBI_MEMORY_ARENA || low >= high) {
        return;
    }
    if (tensor->placing == KIBI_PLACING_LINEAR && tensor->step == tensor->row_bytes) {
        add(run, tensor->base + low * tensor->step, tensor->base + high * tensor->step);
        return;
    }
    if (tensor->placing == KIBI_PLACING_RING && high - low > tensor->period) {
        high = low + tensor->period;
    }
    for (uint32_t row = low; row < high; ++row) {
        const uint32_t entry = tensor->placing == KIBI_PLACING_LINEAR ? row : kibi_placed(model->file, tensor, row);
        const uint32_t place = tensor->base + entry * tensor->step;
        add(run, place, place + tensor->row_bytes);
    }
}

/* The row, or part of one, that a step of a batch begins with; then the least and the largest one that some steps read. */
static int64_t row_of(const kibi_file_window *window, uint32_t step)
{
    return window->start + (int64_t)window->stride * step;
}

static uint32_t least(const kibi_file_window *window, uint32_t first, uint32_t last)
{
    const int64_t a = row_of(window, first), b = row_of(window, last), low = a < b ? a : b;
    return low < 0 ? 0 : low < (int64_t)window->rows ? (uint32_t)low : window->rows - 1u;
}

static uint32_t largest(const kibi_file_window *window, uint32_t first, uint32_t last)
{
    const int64_t a = row_of(window, first), b = row_of(window, last);
    const int64_t high = (a > b ? a : b) + (int64_t)window->dilation * (window->count - 1u);
    return high < 0 ? 0 : high < (int64_t)window->rows ? (uint32_t)high : window->rows - 1u;
}

/* Adds those rows of an input, of the first `made`, that steps of a node from `done` on read; and all between them. */
static void add_read(found_run *run, const kibi_model *model, const kibi_file_node *node, const kibi_file_read *read,
                     uint32_t done, uint32_t made)
{
    const kibi_file_tensor *const tensor =
        (const kibi_file_tensor *)at(model, graph_of(model)->tensors) + read->tensor;
    uint32_t low = done, high = node->steps;
    if ((read->flags & KIBI_READING_SINGLE) == 0) {
        const kibi_file_window *const window = (const kibi_file_window *)at(model, read->window);
        const uint32_t batch = done / window->steps, last_batch = (node->steps - 1u) / window->steps;
        const uint32_t step = done % window->steps, last = (node->steps - 1u) % window->steps;
        const uint32_t end = window->steps - 1u; /* the last step of a whole batch */
        if (window->rows == 0) {
            return;
        }
        if (batch == last_batch) {
            low = least(window, step, last);
            high = largest(window, step, last);
        } else if ((read->flags & KIBI_READING_SHARED) != 0) {
            low = least(window, 0, end);
            high = largest(window, 0, end);
        } else {
            low = least(window, step, end);
            high = largest(window, 0, last);
        }
        if ((read->flags & KIBI_READING_SHARED) == 0) {
            low += batch * window->rows;
            high += last_batch * window->rows;
        }
        low /= window->parts;
        high = high / window->parts + 1u;
    }
    add_rows(run, model, tensor, low, high < made ? high : made);
}

/* How many rows of a tensor have been made at the end of the part. */
static uint32_t made_of(const kibi_span *span, const kibi_file_tensor *tensor)
{
    const uint32_t producer = tensor->producer;
    if (producer >= graph_of(span->model)->node_count) { /* given, from the start */
        return tensor->rows;
    }
    const uint32_t due = due_of(span, producer);
    if (tensor->made == 0) {
        return due == nodes_of(span->model)[producer].steps ? tensor->rows : 0;
    }
    return due * tensor->made;
}

/* Adds what a node has in the arena: its scratch, the rows that it makes, and those that it still reads. */
static void add_node(found_run *run, const kibi_span *span, uint32_t number)
{
    const kibi_model *const model = span->model;
    const kibi_file_node *const node = nodes_of(model) + number;
    const kibi_file_tensor *const tensors = (const kibi_file_tensor *)at(model, graph_of(model)->tensors);
    const kibi_file_read *const reads = (const kibi_file_read *)at(model, node->reads);
    const kibi_file_write *const writes = (const kibi_file_write *)at(model, node->writes);
    const int accumulates = (node->flags & KIBI_KIND_ACCUMULATES) != 0;
    const uint32_t done = done_of(span, number);
    if (done == node->steps) {
        return;
    }
    const uint32_t due = due_of(span, number);
    /* What a node that accumulates has in its scratch stays there from step to step. */
    if (node->scratch != KIBI_NOTHING && (due > done || (accumulates && done != 0))) {
        add(run, node->scratch, node->scratch + node->scratch_bytes);
    }
    for (uint32_t k = 0; k < node->output_count; ++k) {
        const kibi_file_tensor *const tensor = &tensors[writes[k].tensor];
        if (!accumulates) {
            add_rows(run, model, tensor, done * writes[k].rows, due * writes[k].rows);
        } else if (due == node->steps) {
            add_rows(run, model, tensor, 0, tensor->rows);
        }
    }
    for (uint32_t k = 0; k < node->read_count; ++k) {
        add_read(run, model, node, &reads[k], done, made_of(span, &tensors[reads[k].tensor]));
    }
}

uint32_t kibi_occupied(const kibi_span *span, uint32_t from, uint32_t *end)
{
    const kibi_model *const model = span->model;
    const kibi_file_header *const header = header_of(model);
    const kibi_file_tensor *const tensors = (const kibi_file_tensor *)at(model, graph_of(model)->tensors);
    const kibi_file_port *const outputs = (const kibi_file_port *)at(model, header->outputs);
    found_run run = {from, NOWHERE, 0, 1};
    while (run.grew != 0) {
        run.grew = 0;
        for (uint32_t node = 0; node < graph_of(model)->node_count; ++node) {
            add_node(&run, span, node);
        }
        for (uint32_t k = 0; k < header->output_count; ++k) {
            const kibi_file_tensor *const tensor = &tensors[outputs[k].tensor];
            add_rows(&run, model, tensor, 0, made_of(span, tensor));
        }
    }
    *end = run.end;
    return run.first;
}
