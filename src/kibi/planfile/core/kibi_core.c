/* Runs plan files: the order, run by run; for each step the pointers to its rows, its parameters, and its kernel. */
#include "kibi_core.h"

#include <string.h>

#include "kibi_features.h"
#include "kibi_lease.h"
#include "kibi_runs.h"

/* The most slots of a step that this core has room for: pointers to rows, outputs and states. */
#ifndef KIBI_CORE_SLOTS
#define KIBI_CORE_SLOTS 1024
#endif

/* A graph inside of an operator, as its kernel gets it. */
typedef struct {
    kibi_subgraph subgraph; /* must be first: kernels hand it back */
    const kibi_model *model;
    const kibi_file_graph *graph;
} inner_graph;

static const void *at(const kibi_model *model, uint32_t offset)
{
    return model->file + offset;
}

static const kibi_file_header *header_of(const kibi_model *model)
{
    return (const kibi_file_header *)(const void *)model->file;
}

static const kibi_file_graph *graph_of(const kibi_model *model, uint32_t number)
{
    return (const kibi_file_graph *)at(model, header_of(model)->graphs) + number;
}

KIBI_NOINLINE const kibi_kernel *kibi_kernel_of(const kibi_kernels *kernels, uint32_t id)
{
    uint32_t low = 0, high = kernels->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (kernels->kernels[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < kernels->count && kernels->kernels[low].id == id ? &kernels->kernels[low] : NULL;
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
    const kibi_file_place *const place = (const kibi_file_place *)at(model, model->graph->places) + number;
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
        made->subgraph.inputs = (const uint32_t *)at(model, graph->ends);
        made->subgraph.outputs = made->subgraph.inputs + graph->input_count;
        made->model = model;
        made->graph = graph;
        *body++ = made;
    }
    return bodies;
}

enum { DONE = 0, WAITS = 1, AT_LIMIT = 2, PAUSED = 3, NEEDS_ROW = 4 };

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
        return DONE;
    }
    if ((node->flags & KIBI_KIND_EXITS) != 0 && (uint32_t)rest.step == node->steps && *(const int32_t *)rest.states[0] != 0) {
        return WAITS;
    }
    return KIBI_CORE_GRAPHS && (node->flags & KIBI_KIND_LOOPS) != 0 && *(const uint8_t *)scratch != 0 ? AT_LIMIT : DONE;
}

/* Goes on with an inference from a place in the order: to its end, to its next row, or for so many steps. */
static KIBI_NOINLINE int run_order(kibi_model *model, void **slots)
{
    const uint8_t *begin = model->file + model->graph->runs + model->place.run;
    uint32_t done = model->place.done;
    int ended = DONE;
    model->table = KIBI_WIDTH(model->graph) == 1u ? kibi_table(model->file, model->graph) : NULL;
    while (begin < model->file + model->graph->runs_end) {
        const kibi_run step = kibi_read_run(model->file, model->graph, begin);
        if (KIBI_CORE_STREAMS && (step.node->flags & KIBI_KIND_RECEIVES) != 0) {
            if (model->row == NULL) {
                ended = NEEDS_ROW;
                break;
            }
            fetch(model, step.entries, step.node, slots);
            memcpy(slots[0], model->row, ((const kibi_file_group *)at(model, step.node->groups))->bytes);
            model->row = NULL;
        } else {
            const uint32_t left = step.count - done, budget = model->budget;
            if (budget == 0) {
                ended = PAUSED;
                break;
            }
            const uint32_t count = left < budget ? left : budget;
            model->budget = budget - count;
            ended = run_steps(model, &step, done, count, slots);
            if (ended != DONE) {
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
    while (which < sizeof counts && counts[which] < header_of(model)->most_slots) {
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

static int run_model(kibi_model *model, const void *row, uint32_t steps)
{
    model->row = row;
    model->budget = steps;
    return run_graph(model);
}

kibi_status kibi_refused(kibi_status status)
{
    switch (status) {
    case KIBI_ERROR_NULL:
        KIBI_ERROR(NullPointer, 0x7D51952Du);
        break;
    case KIBI_ERROR_ARENA_SIZE:
        KIBI_ERROR(ArenaTooSmall, 0xD39ADF79u);
        break;
    case KIBI_ERROR_ARENA_ALIGNMENT:
        KIBI_ERROR(ArenaMisaligned, 0xC01FF0A9u);
        break;
    case KIBI_ERROR_NOT_INITIALIZED:
        KIBI_ERROR(NotInitialized, 0x7293C39Cu);
        break;
    case KIBI_ERROR_LIMIT:
        KIBI_ERROR(LoopTooLong, 0x34C42F95u);
        break;
    case KIBI_ERROR_STEPS:
        KIBI_ERROR(NoSteps, 0x76988271u);
        break;
    case KIBI_ERROR_ARENA_LEASE:
        KIBI_ERROR(ArenaTaken, 0x05198F7Fu);
        break;
    case KIBI_ERROR_CHECKPOINT:
        KIBI_ERROR(NoCheckpoint, 0x91A2EB1Cu);
        break;
    case KIBI_ERROR_STORAGE:
        KIBI_ERROR(StorageFailed, 0x1954F127u);
        break;
    case KIBI_ERROR_FILE:
        KIBI_ERROR(FileRefused, 0x4FA41DC9u);
        break;
    case KIBI_ERROR_KERNEL:
        KIBI_ERROR(KernelMissing, 0xB4255028u);
        break;
    default:
        KIBI_ERROR(OutOfSequence, 0xECB5048Bu);
        break;
    }
    return status;
}

void kibi_model_rewind(kibi_model *model)
{
    const kibi_position start = {0, 0};
    if (model != NULL) {
        model->place = start;
        model->ended = DONE;
    }
}

static int is_at_start(const kibi_model *model)
{
    return (model->place.run | model->place.done) == 0;
}

/* Whether rows arrive one by one: the nodes that receive them are the first. */
static int streams(const kibi_model *model)
{
    const kibi_file_node *const nodes = (const kibi_file_node *)at(model, model->graph->nodes);
    return KIBI_CORE_STREAMS && (nodes->flags & KIBI_KIND_RECEIVES) != 0;
}

/* KIBI_OK if the model has all its memory. */
kibi_status kibi_ready(const kibi_model *model)
{
    if (model == NULL) {
        return KIBI_ERROR_NULL;
    }
    if (model->file == NULL || (KIBI_CORE_STATES && header_of(model)->state_bytes != 0 && model->state == NULL) ||
        (KIBI_CORE_EXTERNALS && header_of(model)->external_count != 0 && model->external == NULL)) {
        return KIBI_ERROR_NOT_INITIALIZED;
    }
    return KIBI_OK;
}

/* What the end of an inference means for the caller. */
static kibi_status ended_as(int ended)
{
    if (ended == WAITS) {
        KIBI_EVENT(MoreInputNeeded, 0x929C4799u);
        return KIBI_NEED_MORE_INPUT;
    }
    if (ended == AT_LIMIT) {
        return kibi_refused(KIBI_ERROR_LIMIT);
    }
    KIBI_EVENT(InferenceEnded, 0x5E804AC0u);
    return KIBI_OK;
}

void kibi_model_close(kibi_model *model)
{
    if (model != NULL) {
        const kibi_model closed = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, {0, 0}, DONE, 0};
        *model = closed;
    }
}

int kibi_is_file(const void *file, size_t bytes)
{
    const kibi_file_header *const header = (const kibi_file_header *)file;
    return bytes >= sizeof *header && (uintptr_t)file % 4u == 0 && header->magic == KIBI_FILE_MAGIC &&
           header->version == KIBI_FILE_VERSION && header->required == 0 && header->file_bytes <= bytes &&
           ((uintptr_t)file & (header->alignment - 1u)) == 0;
}

kibi_status kibi_model_arena(const void *file, size_t bytes, size_t *arena_bytes, size_t *alignment)
{
    const kibi_file_header *const header = (const kibi_file_header *)file;
    if (file == NULL || arena_bytes == NULL || alignment == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (!kibi_is_file(file, bytes)) {
        return kibi_refused(KIBI_ERROR_FILE);
    }
    *arena_bytes = (size_t)header->arena_bytes + KIBI_LEAD_BYTES(header);
    *alignment = KIBI_CORE_LEASE != 0 ? KIBI_LEAD_BYTES(header) : header->arena_alignment;
    return KIBI_OK;
}

kibi_status kibi_model_open_trusted(kibi_model *model, const void *file, size_t bytes, const kibi_kernels *kernels,
                                    void *arena, size_t arena_bytes)
{
    if (model == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    kibi_model_close(model);
    if (file == NULL || kernels == NULL || arena == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    const kibi_file_header *const header = (const kibi_file_header *)file;
    if (!kibi_is_file(file, bytes)) {
        return kibi_refused(KIBI_ERROR_FILE);
    }
    if (arena_bytes < KIBI_LEAD_BYTES(header) || arena_bytes - KIBI_LEAD_BYTES(header) < header->arena_bytes) {
        return kibi_refused(KIBI_ERROR_ARENA_SIZE);
    }
    if (((uintptr_t)arena & (header->arena_alignment - 1u)) != 0 || (KIBI_CORE_LEASE != 0 && (uintptr_t)arena % 4u != 0)) {
        return kibi_refused(KIBI_ERROR_ARENA_ALIGNMENT);
    }
    const uint32_t *const ids = (const uint32_t *)(const void *)((const uint8_t *)file + header->kernels);
    for (uint32_t k = 0; k < header->kernel_count; ++k) {
        if (kibi_kernel_of(kernels, ids[k]) == NULL) {
            return kibi_refused(KIBI_ERROR_KERNEL);
        }
    }
    if (header->most_slots > KIBI_CORE_SLOTS) {
        return kibi_refused(KIBI_ERROR_KERNEL);
    }
    model->file = (const uint8_t *)file;
    model->kernels = kernels;
    model->graph = graph_of(model, 0);
    model->arena = (uint8_t *)arena + KIBI_LEAD_BYTES(header);
    return KIBI_OK;
}

kibi_status kibi_model_reset(kibi_model *model)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    kibi_model_rewind(model);
    const kibi_file_variable *variable = (const kibi_file_variable *)at(model, header_of(model)->variables);
    for (uint32_t k = KIBI_CORE_STATES ? header_of(model)->variable_count : 0; k != 0; --k, ++variable) {
        uint8_t *const to = model->state + variable->place;
        if (variable->initial != 0) {
            memcpy(to, at(model, variable->initial), variable->bytes);
        } else {
            memset(to, (int)variable->fill, variable->bytes);
        }
    }
    return KIBI_OK;
}

kibi_status kibi_model_set_state(kibi_model *model, void *state, size_t bytes)
{
    if (model == NULL || state == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (model->file == NULL) {
        return kibi_refused(KIBI_ERROR_NOT_INITIALIZED);
    }
    if (bytes < header_of(model)->state_bytes) {
        return kibi_refused(KIBI_ERROR_ARENA_SIZE);
    }
    if ((uintptr_t)state % 8u != 0) {
        return kibi_refused(KIBI_ERROR_ARENA_ALIGNMENT);
    }
    void *const *const external = model->external;
    model->state = (uint8_t *)state;
    model->external = external != NULL ? external : (void *const *)&model->arena; /* variables do not need them */
    const kibi_status status = kibi_model_reset(model);
    model->external = external;
    return status;
}

kibi_status kibi_model_set_external(kibi_model *model, void *const *buffers, const size_t *bytes, unsigned count)
{
    if (model == NULL || buffers == NULL || bytes == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    if (model->file == NULL) {
        return kibi_refused(KIBI_ERROR_NOT_INITIALIZED);
    }
    const kibi_file_external *const needed =
        (const kibi_file_external *)at(model, header_of(model)->externals);
    if (count != (KIBI_CORE_EXTERNALS ? header_of(model)->external_count : 0u)) {
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    for (unsigned k = 0; k < count; ++k) {
        if (buffers[k] == NULL) {
            return kibi_refused(KIBI_ERROR_NULL);
        }
        if (bytes[k] < needed[k].bytes) {
            return kibi_refused(KIBI_ERROR_ARENA_SIZE);
        }
        if ((uintptr_t)buffers[k] % needed[k].alignment != 0) {
            return kibi_refused(KIBI_ERROR_ARENA_ALIGNMENT);
        }
    }
    model->external = buffers;
    return KIBI_OK;
}

static kibi_status describe(const kibi_model *model, unsigned index, unsigned first, uint32_t count, kibi_port *port)
{
    if (index >= count || port == NULL) {
        return kibi_refused(KIBI_ERROR_NULL);
    }
    const kibi_file_port *const from = (const kibi_file_port *)at(model, header_of(model)->ports) + first + index;
    port->data = kibi_bytes_at(model, from->memory, from->place);
    port->shape = (const uint32_t *)at(model, from->shape);
    port->name = from->name == 0 ? NULL : (const char *)at(model, from->name);
    port->scale = from->scale;
    port->zero_point = from->zero_point;
    port->bytes = from->bytes;
    port->row_bytes = from->row_bytes;
    port->type = from->type;
    port->rank = from->rank;
    return KIBI_OK;
}

kibi_status kibi_model_input(kibi_model *model, unsigned index, kibi_port *port)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    const kibi_status described = describe(model, index, 0, header_of(model)->input_count, port);
    if (KIBI_CORE_LEASE != 0 && described == KIBI_OK) {
        kibi_lease_hand_over(model, index);
    }
    return described;
}

kibi_status kibi_model_output(const kibi_model *model, unsigned index, kibi_port *port)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    const uint32_t inputs = header_of(model)->input_count;
    const kibi_status described = describe(model, index, inputs, header_of(model)->port_count - inputs, port);
    if (KIBI_CORE_LEASE != 0 && described == KIBI_OK && !kibi_lease_holds(model)) {
        port->data = NULL;
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    return described;
}

kibi_status kibi_model_run_for(kibi_model *model, uint32_t steps)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK) {
        return kibi_refused(status);
    }
    if (steps == 0 || streams(model)) {
        return kibi_refused(steps == 0 ? KIBI_ERROR_STEPS : KIBI_ERROR_SEQUENCE);
    }
    if (KIBI_CORE_LEASE != 0 && !kibi_lease_begins(model)) {
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    if (is_at_start(model)) {
        KIBI_EVENT(InferenceStarted, 0x4ACF8CB9u);
    }
    const int ended = run_model(model, NULL, steps);
    if (ended == PAUSED) {
        return KIBI_PAUSED;
    }
    kibi_model_rewind(model);
    return ended_as(ended);
}

/* The node of the next run. */
static uint32_t next_node(const kibi_model *model)
{
    return kibi_number(model->graph, model->file + model->graph->runs + model->place.run) / 2u;
}

/* Whether nothing is computed before the first row arrives. */
static int row_is_first(const kibi_model *model)
{
    const kibi_file_node *const nodes = (const kibi_file_node *)at(model, model->graph->nodes);
    return is_at_start(model) && (nodes[next_node(model)].flags & KIBI_KIND_RECEIVES) != 0;
}

int kibi_model_expected_input(kibi_model *model)
{
    if (kibi_ready(model) != KIBI_OK || !streams(model) || model->ended != DONE) {
        return -1;
    }
    if (KIBI_CORE_LEASE != 0 && !row_is_first(model) && !kibi_lease_begins(model)) {
        (void)kibi_refused(KIBI_ERROR_ARENA_LEASE);
        return -1;
    }
    const int ended = run_model(model, NULL, UINT32_MAX); /* all steps that need no row */
    if (ended == NEEDS_ROW) {
        return (int)next_node(model);
    }
    model->ended = ended;
    return -1;
}

kibi_status kibi_model_push_row(kibi_model *model, unsigned input, const void *row)
{
    const kibi_status status = kibi_ready(model);
    if (status != KIBI_OK || row == NULL) {
        return kibi_refused(status != KIBI_OK ? status : KIBI_ERROR_NULL);
    }
    if (KIBI_CORE_LEASE != 0 && streams(model) && !kibi_lease_begins(model)) {
        return kibi_refused(KIBI_ERROR_ARENA_LEASE);
    }
    if (kibi_model_expected_input(model) != (int)input) {
        return kibi_refused(KIBI_ERROR_SEQUENCE);
    }
    KIBI_EVENT(RowReceived, 0xC63A22A4u);
    const int ended = run_model(model, row, UINT32_MAX);
    model->ended = ended == NEEDS_ROW ? DONE : ended;
    return KIBI_OK;
}

kibi_status kibi_model_invoke(kibi_model *model)
{
    if (kibi_ready(model) == KIBI_OK && streams(model)) {
        if (KIBI_CORE_LEASE != 0 && !is_at_start(model) && !kibi_lease_holds(model)) {
            return kibi_refused(KIBI_ERROR_ARENA_LEASE);
        }
        if (kibi_model_expected_input(model) >= 0) {
            return kibi_refused(KIBI_ERROR_SEQUENCE);
        }
        const int ended = model->ended;
        kibi_model_rewind(model);
        return ended_as(ended);
    }
    kibi_model_rewind(model);
    return kibi_model_run_for(model, UINT32_MAX);
}
