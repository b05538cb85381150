/* Runs plan files: the order, run by run; for each step the pointers to its rows, its parameters, and its kernel. */
#include "kibi_core.h"

#include <string.h>

#include "kibi_features.h"
#include "kibi_runs.h"

/* Flags of nodes whose steps are not plain. */
#define KIBI_SPECIAL (KIBI_KIND_EXITS | KIBI_KIND_LOOPS | KIBI_KIND_RECEIVES | KIBI_KIND_CONTROLS | KIBI_KIND_COUNTS)

/* What run_order returns where a plain run is next. */
#define ENDED_NOT (-1)

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

/* The number of a node's kernel in the core's table. */
KIBI_INLINE uint32_t number_of(const kibi_kernels *kernels, const kibi_file_node *node)
{
    const uint32_t expected = node->place;
    return expected < kernels->count && kernels->kernels[expected].id == node->kernel_id
               ? expected
               : (uint32_t)(kibi_kernel_of(kernels, node->kernel_id) - kernels->kernels);
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

/* Where an entry leads that is above the sizes of arena and state. */
static KIBI_NOINLINE void *place_of(const kibi_model *model, uint32_t number)
{
    const kibi_file_place *const place = (const kibi_file_place *)kibi_at(model, model->graph->places) + number;
    return kibi_bytes_at(model, place->memory, place->offset);
}

/* A distance of a run. `table`: of the graph, if its entries are bytes. */
KIBI_INLINE intptr_t distance_at(const kibi_file_graph *graph, const uint16_t *table, const uint8_t *distance)
{
    const uint32_t number = KIBI_WIDTH(graph) == 1u ? table[*distance] : kibi_entry(NULL, graph, distance, 0);
    return !KIBI_CORE_WIDE || KIBI_WIDTH(graph) != 4u ? (int16_t)number : (int32_t)number;
}

/* Writes the pointers of a run's first step; returns the first byte after its entries. spaced: so many of them, the first ones, are
 * evenly spaced, and have an entry and a distance together. */
static const uint8_t *fetch(const kibi_model *model, const uint8_t *entry, const kibi_file_node *node, uint32_t spaced,
                            void **slots)
{
    const kibi_file_graph *const graph = model->graph;
    const uint32_t arena_bytes = graph->arena_bytes, state_bytes = KIBI_STATE_BYTES(kibi_header_of(model));
    const uint16_t *table = kibi_table(model->file, graph);
    void **const end = slots + node->pointers;
    KIBI_HIDDEN(table);
    do {
        uint32_t number = KIBI_WIDTH(graph) == 1u ? table[*entry] : kibi_entry(NULL, graph, entry, 0);
        entry += KIBI_WIDTH(graph);
        const uint8_t *base = model->arena;
        if (number >= arena_bytes) {
            number -= arena_bytes;
            base = model->state;
            if (number >= state_bytes) {
                base = place_of(model, number - state_bytes);
                number = 0;
            }
        }
        *slots = (void *)((uintptr_t)base + number); /* a sum of numbers: C adds nothing to a null pointer */
        if (KIBI_CORE_SPACED && spaced != 0) {
            const intptr_t distance = distance_at(graph, table, entry);
            entry += KIBI_WIDTH(graph);
            for (; --spaced != 0; ++slots) {
                slots[1] = (void *)((uintptr_t)slots[0] + (uintptr_t)distance);
            }
        }
    } while (++slots < end);
    return entry;
}

/* Flags of nodes that run_plain leaves to run_order: special ones, and those of which an entry may count a place record. */
KIBI_INLINE uint32_t flags_of_others(const kibi_file_graph *graph)
{
    return KIBI_SPECIAL | (graph->place_count != 0 ? KIBI_KIND_LEAVES : 0u);
}

/* Whether run_plain runs the next run: it has one step, and nothing about its node is special. Most steps of streaming models are
 * such, and small: cores for models without variables do without it. */
KIBI_INLINE int is_plain(const kibi_model *model, const uint8_t *at)
{
    return KIBI_CORE_STATES && KIBI_WIDTH(model->graph) == 1u && model->calls != NULL && model->budget != 0 &&
           ((*at & KIBI_MANY) == 0 || (KIBI_CORE_SPACED && at[1] == 0)) &&
           (((const kibi_file_node *)kibi_at(model, model->graph->nodes))[*at / 2u].flags & flags_of_others(model->graph)) == 0;
}

/* What turns entries into pointers where they lead to the arena or to the state. */
typedef struct {
    const uint16_t *table;
    uintptr_t arena;
    uint32_t arena_bytes;
    uintptr_t state; /* what is added besides to an entry that leads there */
} memories;

KIBI_INLINE uintptr_t pointer_of(const memories *of, uint32_t entry)
{
    uintptr_t number = of->table[entry];
    if (number >= of->arena_bytes) {
        number += of->state;
    }
    return of->arena + number;
}

/* Writes evenly spaced pointers, two at a time: of an odd number, one more than asked. */
KIBI_INLINE void write_spaced(uintptr_t pointer, uintptr_t distance, void **slot, void *const *end)
{
    do {
        *slot++ = (void *)pointer;
        pointer += distance;
        *slot++ = (void *)pointer;
        pointer += distance;
    } while (slot < end);
}

/* Runs plain runs as long as there are some. Its own function, which run_order does not call: so the stack has one of both. */
static KIBI_NOINLINE void run_plain(kibi_model *model, void **slots)
{
    const kibi_file_graph *const graph = model->graph;
    uint32_t budget = model->budget;
    if (model->place.done != 0 || KIBI_WIDTH(graph) != 1u || model->calls == NULL || budget == 0) {
        return;
    }
    const uint8_t *const file = model->file, *at = file + graph->runs + model->place.run;
    kibi_model *volatile kept_model = model; /* these are on the stack: registers are for pointers */
    const uint8_t *volatile kept_nodes = file + graph->nodes;
    const kibi_call *volatile kept_calls = model->calls;
    const volatile uint32_t kept_others = flags_of_others(graph);
    memories both = {kibi_table(file, graph), (uintptr_t)model->arena, graph->arena_bytes,
                     (uintptr_t)model->state - (uintptr_t)model->arena - graph->arena_bytes};
    KIBI_HIDDEN(both.table);
    KIBI_HIDDEN(both.state);
    kibi_rest_of(slots)->step = 0;
    do {
        const uint32_t head = *at;
        const uint8_t *const record = kept_nodes + head * (sizeof(kibi_file_node) / 2u);
        const kibi_file_node *node = (const kibi_file_node *)(const void *)record;
        void **slot = slots;
        if (KIBI_RARELY((head & KIBI_MANY) != 0)) {
            node = (const kibi_file_node *)(const void *)(record - sizeof(kibi_file_node) / 2u);
            if (!KIBI_CORE_SPACED || at[1] != 0 || at == file + kept_model->graph->runs_end || /* a byte with KIBI_MANY is there */
                (node->flags & kept_others) != 0) {
                break;
            }
            slot += node->rows; /* at least one slot comes after them */
            write_spaced(pointer_of(&both, at[2]), (uintptr_t)(intptr_t)(int16_t)both.table[at[3]], slots, slot);
            at += 4;
        } else {
            if ((node->flags & kept_others) != 0) {
                break;
            }
            ++at;
        }
        void **const end = slots + node->pointers, *pointer;
        do {
            pointer = (void *)pointer_of(&both, *at++);
            *slot++ = pointer;
            KIBI_HIDDEN(slot);
        } while (slot != end);
        kibi_rest_of(slots)->node = node;
        kept_calls[node->place](pointer, (const void **)(uintptr_t)slots, file + node->params,
                                (uint8_t *)both.arena + node->scratch);
    } while (--budget != 0);
    model = kept_model;
    model->budget = budget;
    model->place.run = (uint32_t)(at - file) - model->graph->runs;
}

/* Moves pointers on by so many steps. Null pointers do not move: numbers are added, for C adds nothing to a null pointer. */
static KIBI_NOINLINE void move_on(const kibi_model *model, const uint8_t *distance, const kibi_file_node *node, uint32_t steps,
                                  void **slots)
{
    const kibi_file_graph *const graph = model->graph;
    const uint16_t *table = kibi_table(model->file, graph);
    void **const end = slots + node->pointers;
    KIBI_HIDDEN(table);
    do {
        const intptr_t bytes = distance_at(graph, table, distance);
        distance += KIBI_WIDTH(graph);
        *slots = (void *)((uintptr_t)*slots + (uintptr_t)bytes * steps);
    } while (++slots < end);
}

static int run_subgraph(const kibi_subgraph *subgraph, uint8_t *arena);

/* Writes the graphs that a kernel runs, whose numbers are the last of its parameters, and pointers to them; all into slots. */
static KIBI_NOINLINE void add_bodies(const kibi_model *model, const kibi_kernel *kernel, const uint32_t *params, void **slots)
{
    inner_graph *made = (inner_graph *)(void *)slots;
    void **body = slots + KIBI_GRAPH_SLOTS - KIBI_MOST_BODIES;
    for (uint32_t word = kernel->first_subgraph; word < kernel->words; ++word, ++made) {
        const kibi_file_graph *const graph = graph_of(model, params[word]);
        made->subgraph.run = run_subgraph;
        made->subgraph.inputs = (const uint32_t *)kibi_at(model, graph->ends);
        made->subgraph.outputs = made->subgraph.inputs + graph->input_count;
        made->model = model;
        made->graph = graph;
        *body++ = made;
    }
}

/* Whether a node whose steps have run ends the inference, and how. */
static KIBI_NOINLINE int end_of(const kibi_model *model, const kibi_file_node *node, void **slots)
{
    if ((node->flags & KIBI_KIND_EXITS) != 0 && (uint32_t)kibi_rest_of(slots)->step == node->steps &&
        *(const int32_t *)slots[node->rows] != 0) {
        return KIBI_ENDED_WAITS;
    }
    return KIBI_CORE_GRAPHS && (node->flags & KIBI_KIND_LOOPS) != 0 && model->arena[node->scratch] != 0 ? KIBI_ENDED_AT_LIMIT
                                                                                                      : KIBI_ENDED_DONE;
}

/* Goes on with an inference from a place in the order: to its end, to its next row, for so many steps, or to a run that is plain. */
static KIBI_NOINLINE int run_order(kibi_model *model, void **slots)
{
    const uint8_t *at = model->file + model->graph->runs + model->place.run;
    uint32_t done = model->place.done;
    int ended = KIBI_ENDED_DONE;
    kibi_rest *const rest = kibi_rest_of(slots);
    for (;;) {
        if (at == model->file + model->graph->runs_end) {
            break;
        }
        if (done == 0 && is_plain(model, at)) {
            ended = ENDED_NOT;
            break;
        }
        const uint32_t size = KIBI_WIDTH(model->graph) == 1u ? 1u : 2u;
        uint32_t head = kibi_number(model->graph, at), spaced = 0;
        const kibi_file_node *const node = (const kibi_file_node *)kibi_at(model, model->graph->nodes) + head / 2u;
        const uint8_t *entry = at + size;
        uint32_t left = 1;
        if ((head & KIBI_MANY) != 0) {
            left = kibi_number(model->graph, entry);
            entry += size;
            if (KIBI_CORE_SPACED && left == 0) {
                left = 1;
                head -= KIBI_MANY; /* no distances follow */
                spaced = node->rows;
            }
        }
        rest->node = node;
        rest->step = (int32_t)done;
        if ((node->flags & KIBI_KIND_COUNTS) != 0) {
            rest->step += (int32_t)kibi_number(model->graph, entry);
            entry += size;
        }
        if (KIBI_CORE_STREAMS && (node->flags & KIBI_KIND_RECEIVES) != 0) {
            if (model->row == NULL) {
                ended = KIBI_ENDED_NEEDS_ROW;
                break;
            }
            at = fetch(model, entry, node, 0, slots);
            memcpy(slots[0], model->row, ((const kibi_file_group *)kibi_at(model, node->groups))->bytes);
            model->row = NULL;
            continue;
        }
        const uint32_t budget = model->budget;
        if (budget == 0) {
            ended = KIBI_ENDED_PAUSED;
            break;
        }
        left -= done;
        uint32_t count = left < budget ? left : budget;
        model->budget = budget - count;
        left -= count;
        entry = fetch(model, entry, node, spaced, slots);
        const void *const params = kibi_at(model, node->params);
        const uint32_t kernel = number_of(model->kernels, node);
        const kibi_call call = model->kernels->calls[kernel];
        if (KIBI_CORE_GRAPHS && (node->flags & KIBI_KIND_CONTROLS) != 0) {
            add_bodies(model, &model->kernels->kernels[kernel], (const uint32_t *)params, slots + node->pointers);
        }
        for (uint32_t further = done;; further = 1) {
            if (further != 0) {
                move_on(model, entry, node, further, slots);
            }
            call((slots + node->pointers)[-1], (const void **)(uintptr_t)slots, params, model->arena + node->scratch);
            ++rest->step;
            ++done;
            if (--count == 0) {
                break;
            }
        }
        if (left != 0) { /* the budget is used up */
            continue;
        }
        done = 0;
        if ((head & KIBI_MANY) != 0) {
            entry += node->pointers * KIBI_WIDTH(model->graph);
        }
        if (KIBI_CORE_ENDS_EARLY && (node->flags & (KIBI_KIND_EXITS | KIBI_KIND_LOOPS)) != 0) {
            ended = end_of(model, node, slots);
            if (ended != KIBI_ENDED_DONE) {
                break;
            }
        }
        at = entry;
    }
    model->place.run = (uint32_t)(at - model->file) - model->graph->runs;
    model->place.done = done;
    return ended;
}

/* The same until the inference ends or pauses. */
KIBI_INLINE int run_all(kibi_model *model, void **slots)
{
    int ended;
    do {
        if (KIBI_CORE_STATES) {
            run_plain(model, slots);
        }
        ended = run_order(model, slots);
    } while (KIBI_CORE_STATES && ended == ENDED_NOT);
    return ended;
}

/* The same with so many slots. */
#define KIBI_RUN_IN(count)                                     \
    static KIBI_NOINLINE int run_in_##count(kibi_model *model) \
    {                                                          \
        struct {                                               \
            kibi_rest rest;                                    \
            void *slots[count];                                \
        } step;                                                \
        return run_all(model, step.slots);                     \
    }
KIBI_RUN_IN(4)
KIBI_RUN_IN(8)
KIBI_RUN_IN(16)
KIBI_RUN_IN(24)
KIBI_RUN_IN(32)
KIBI_RUN_IN(64)
KIBI_RUN_IN(KIBI_CORE_SLOTS)

/* Goes on with a graph from its place in the order, with as many slots as the file's steps need, or a few more. */
static int run_graph(kibi_model *model)
{
    static const uint8_t counts[] = {4, 8, 16, 24, 32, 64};
    static int (*const run_in[])(kibi_model *) = {run_in_4,  run_in_8,  run_in_16,             run_in_24,
                                                  run_in_32, run_in_64, run_in_KIBI_CORE_SLOTS};
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
