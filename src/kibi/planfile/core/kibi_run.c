/* Runs plan files: the order, run by run; for each step the pointers to its rows, its parameters, and its kernel. */
#include "kibi_core.h"

#include <string.h>

#include "kibi_features.h"
#include "kibi_runs.h"

/* A graph inside of an operator, as its kernel gets it. */
typedef struct {
    kibi_subgraph subgraph; /* must be first: kernels hand it back */
    const kibi_model *model;
    const kibi_file_graph *graph;
} inner_graph;

static const kibi_file_graph *graph_of(const kibi_model *model, uint32_t number)
{
    return (const kibi_file_graph *)kibi_at(model, kibi_header_of(model)->graphs) + number;
}

KIBI_INLINE const kibi_kernel *find(const kibi_kernels *kernels, uint32_t id, uint32_t expected)
{
    const kibi_kernel *const kernel = &kernels->kernels[expected];
    return expected < kernels->count && kernel->id == id ? kernel : kibi_kernel_of(kernels, id);
}

KIBI_NOINLINE uint8_t *kibi_bytes_at(const kibi_model *model, uint32_t memory, uint32_t offset)
{
    const uint8_t *base = model->arena;
    if (memory == KIBI_MEMORY_FILE) {
        base = model->file;
    } else if (memory == KIBI_MEMORY_NULL) {
        return NULL;
    } else if (KIBI_CORE_STATES && memory == KIBI_MEMORY_STATE) {
        base = model->state;
    } else if (KIBI_CORE_EXTERNALS && memory != KIBI_MEMORY_ARENA) {
        base = (const uint8_t *)model->external[memory - KIBI_MEMORY_EXTERNAL];
    }
    return (uint8_t *)(uintptr_t)base + offset;
}

/* Where an entry leads that is above the arena's size. */
static void *place_of(const kibi_model *model, uint32_t number)
{
    const kibi_file_place *const place = (const kibi_file_place *)kibi_at(model, model->graph->places) + number;
    return kibi_bytes_at(model, place->memory, place->offset);
}

/* Writes the pointers of a run's first step. */
static KIBI_NOINLINE void fetch(const kibi_model *model, const uint8_t *entry, const kibi_file_node *node, void **slots)
{
    const uint32_t arena_bytes = model->graph->arena_bytes;
    const uintptr_t arena = (uintptr_t)model->arena; /* a number: entries may be beyond the arena */
    void **const end = slots + node->pointers;
    if (KIBI_WIDTH(model->graph) == 1u) {
        const uint16_t *const table = model->table;
        do {
            const uint32_t number = table[*entry++];
            *slots = (void *)(arena + number);
            if (number >= arena_bytes) { /* seldom */
                *slots = place_of(model, number - arena_bytes);
            }
            ++slots;
        } while (slots < end);
        return;
    }
    do {
        const uint32_t number = kibi_entry(NULL, model->graph, entry, 0);
        entry += KIBI_WIDTH(model->graph);
        *slots++ = number < arena_bytes ? (void *)(arena + number) : place_of(model, number - arena_bytes);
    } while (slots < end);
}

/* Moves pointers on by so many steps. Null pointers do not move: numbers are added, for C adds nothing to a null pointer. */
static KIBI_NOINLINE void move_on(const kibi_model *model, const uint8_t *entry, const kibi_file_node *node, uint32_t steps,
                                  void **slots)
{
    void **const end = slots + node->pointers;
    const uint8_t *distance = entry + node->pointers * KIBI_WIDTH(model->graph);
    if (KIBI_WIDTH(model->graph) == 1u) {
        const uint16_t *const table = model->table;
        do {
            const intptr_t bytes = (int16_t)table[*distance++];
            *slots = (void *)((uintptr_t)*slots + (uintptr_t)bytes * steps);
        } while (++slots < end);
        return;
    }
    do {
        const uint32_t number = kibi_entry(NULL, model->graph, distance, 0);
        const intptr_t bytes = !KIBI_CORE_WIDE || KIBI_WIDTH(model->graph) == 2u ? (int16_t)number : (int32_t)number;
        distance += KIBI_WIDTH(model->graph);
        *slots = (void *)((uintptr_t)*slots + (uintptr_t)bytes * steps);
    } while (++slots < end);
}

static int run_subgraph(const kibi_subgraph *subgraph, uint8_t *arena);

/* The graphs that a kernel runs, whose numbers are the last of its parameters; all in slots. */
static KIBI_NOINLINE void *const *bodies_of(const kibi_model *model, const kibi_kernel *kernel, const uint32_t *params,
                                            void **slots)
{
    inner_graph *made = (inner_graph *)(void *)slots;
    void **const bodies = (void **)(void *)(made + KIBI_MOST_BODIES), **body = bodies;
    for (uint32_t word = kernel->first_subgraph; word < kernel->words; ++word, ++made) {
        const kibi_file_graph *const graph = graph_of(model, params[word]);
        made->subgraph.run = run_subgraph;
        made->subgraph.inputs = (const uint32_t *)kibi_at(model, graph->ends);
        made->subgraph.outputs = made->subgraph.inputs + graph->input_count;
        made->model = model;
        made->graph = graph;
        *body++ = made;
    }
    return bodies;
}

/* Runs steps of a node: `count` of a run, of which `done` were run before. */
KIBI_INLINE int run_steps(const kibi_model *model, const kibi_run *step, uint32_t done, uint32_t count, void **slots)
{
    const kibi_file_node *const node = step->node;
    const kibi_kernel *const kernel = find(model->kernels, node->kernel_id, node->place);
    void (*const call)(void *, const void *const *, const void *, void *, const kibi_rest *) = kernel->call;
    const void *const params = model->file + node->params;
    void *const scratch = model->arena + node->scratch;
    kibi_rest rest;
    fetch(model, step->entries, node, slots);
    rest.states = slots + node->rows;
    rest.outputs = rest.states + node->state_count;
    if (KIBI_CORE_GRAPHS && (node->flags & KIBI_KIND_CONTROLS) != 0) {
        rest.states = bodies_of(model, kernel, (const uint32_t *)params, slots + node->pointers);
    }
    rest.step = (int32_t)(step->first + done);
    for (uint32_t further = done;; further = 1) {
        if (further != 0) {
            move_on(model, step->entries, node, further, slots);
        }
        call(rest.outputs[0], (const void **)(uintptr_t)slots, params, scratch, &rest);
        ++rest.step;
        if (--count == 0) {
            break;
        }
    }
    if (!KIBI_CORE_ENDS_EARLY || (node->flags & (KIBI_KIND_EXITS | KIBI_KIND_LOOPS)) == 0) {
        return KIBI_ENDED_DONE;
    }
    if ((node->flags & KIBI_KIND_EXITS) != 0 && (uint32_t)rest.step == node->steps && *(const int32_t *)rest.states[0] != 0) {
        return KIBI_ENDED_WAITS;
    }
    return KIBI_CORE_GRAPHS && (node->flags & KIBI_KIND_LOOPS) != 0 && *(const uint8_t *)scratch != 0 ? KIBI_ENDED_AT_LIMIT : KIBI_ENDED_DONE;
}

/* Goes on with an inference from a place in the order: to its end, to its next row, or for so many steps. */
static KIBI_NOINLINE int run_order(kibi_model *model, void **slots)
{
    const uint8_t *begin = model->file + model->graph->runs + model->place.run;
    uint32_t done = model->place.done;
    int ended = KIBI_ENDED_DONE;
    model->table = KIBI_WIDTH(model->graph) == 1u ? kibi_table(model->file, model->graph) : NULL;
    while (begin < model->file + model->graph->runs_end) {
        const kibi_run step = kibi_read_run(model->file, model->graph, begin);
        if (KIBI_CORE_STREAMS && (step.node->flags & KIBI_KIND_RECEIVES) != 0) {
            if (model->row == NULL) {
                ended = KIBI_ENDED_NEEDS_ROW;
                break;
            }
            fetch(model, step.entries, step.node, slots);
            memcpy(slots[0], model->row, ((const kibi_file_group *)kibi_at(model, step.node->groups))->bytes);
            model->row = NULL;
        } else {
            const uint32_t left = step.count - done, budget = model->budget;
            if (budget == 0) {
                ended = KIBI_ENDED_PAUSED;
                break;
            }
            const uint32_t count = left < budget ? left : budget;
            model->budget = budget - count;
            ended = run_steps(model, &step, done, count, slots);
            if (ended != KIBI_ENDED_DONE) {
                break;
            }
            done += count;
            if (done < step.count) { /* the budget is used up */
                continue;
            }
            done = 0;
        }
        begin = step.next;
    }
    model->place.run = (uint32_t)(begin - model->file) - model->graph->runs;
    model->place.done = done;
    return ended;
}

/* The same with so many slots. */
#define KIBI_RUN_IN(count)                                     \
    static KIBI_NOINLINE int run_in_##count(kibi_model *model) \
    {                                                          \
        void *slots[count];                                    \
        return run_order(model, slots);                        \
    }
KIBI_RUN_IN(2)
KIBI_RUN_IN(4)
KIBI_RUN_IN(8)
KIBI_RUN_IN(12)
KIBI_RUN_IN(16)
KIBI_RUN_IN(24)
KIBI_RUN_IN(32)
KIBI_RUN_IN(64)
KIBI_RUN_IN(KIBI_CORE_SLOTS)

/* Goes on with a graph from its place in the order, with as many slots as the file's steps need, or a few more. */
static int run_graph(kibi_model *model)
{
    static const uint8_t counts[] = {2, 4, 8, 12, 16, 24, 32, 64};
    static int (*const run_in[])(kibi_model *) = {run_in_2,  run_in_4,  run_in_8,  run_in_12,             run_in_16,
                                                  run_in_24, run_in_32, run_in_64, run_in_KIBI_CORE_SLOTS};
    uint32_t which = 0;
    while (which < sizeof counts && counts[which] < kibi_header_of(model)->most_slots) {
        ++which;
    }
    return run_in[which](model);
}

static int run_subgraph(const kibi_subgraph *subgraph, uint8_t *arena)
{
    const inner_graph *const inner = (const inner_graph *)(const void *)subgraph;
    const kibi_position start = {0, 0};
    kibi_model model = *inner->model;
    model.graph = inner->graph;
    model.arena = arena;
    model.place = start;
    model.budget = UINT32_MAX;
    return run_graph(&model);
}

int kibi_run_model(kibi_model *model, const void *row, uint32_t steps)
{
    model->row = row;
    model->budget = steps;
    return run_graph(model);
}
