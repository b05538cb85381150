/* Checks a plan file before it is opened: after that no file, however made, leads a kernel out of its memory. */
#include "kibi_open.h"

#include <stddef.h>
#include <string.h>

#include "kibi_check.h"
#include "kibi_features.h"
#include "kibi_lease.h"
#include "kibi_runs.h"
#include "kibi_sha256.h"

/* At -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

#define DIGEST_BYTES 32u

/* What a byte of the arena holds. */
enum {
    NOTHING_YET = 0, /* nothing that may be read */
    ELEMENTS = 1,    /* what a step wrote, or an input */
    KEPT = 2         /* what the node that is followed keeps in its scratch from step to step */
};

#if KIBI_CORE_WEIGHTS
KIBI_NOINLINE
#endif
int kibi_is_inside(const kibi_checker *c, uint32_t offset, uint32_t count, uint32_t size)
{
    const uint32_t unit = size < 4u ? size : 4u;
    return (offset & (unit - 1u)) == 0 && offset <= c->end && (uint64_t)count * size <= c->end - offset;
}

#if KIBI_CORE_WEIGHTS
/* The same, for all but the constants that kernels compute with: it must not be where weights are written. */
static KIBI_NOINLINE int is_fixed(const kibi_checker *c, uint32_t offset, uint32_t count, uint32_t size)
{
    return offset < c->weights_end ? 0 : kibi_is_inside(c, offset, count, size);
}
#else
#define is_fixed kibi_is_inside
#endif

static const void *at(const kibi_checker *c, uint32_t offset)
{
    return c->file + offset;
}

/* Whether the graph that is looked at is the model: the only one where no kernel runs others. */
static int is_model(const kibi_checker *c)
{
    return !KIBI_CORE_GRAPHS || c->graph == at(c, kibi_head(c)->graphs);
}

static int is_power(uint32_t number)
{
    return number != 0 && (number & (number - 1u)) == 0;
}

/* Whether a text is in the file; 0 is no text. It ends there: the last byte before the digest is 0. */
static int is_text(const kibi_checker *c, uint32_t offset)
{
    return offset < c->end;
}

/* Whether bytes of one of the memories exist, at a multiple of an alignment. */
static KIBI_NOINLINE int are_there(const kibi_checker *c, uint32_t memory, uint32_t offset, uint32_t bytes, uint32_t alignment)
{
    uint32_t size = c->end, begins = kibi_head(c)->alignment;
    if (memory == KIBI_MEMORY_ARENA) {
        size = c->graph->arena_bytes;
        begins = c->graph->alignment;
    } else if (KIBI_CORE_STATES && memory == KIBI_MEMORY_STATE) {
        size = kibi_head(c)->state_bytes;
        begins = 8;
    } else if (memory != KIBI_MEMORY_FILE) {
        const kibi_file_external *const external = (const kibi_file_external *)at(c, kibi_head(c)->externals);
        memory -= KIBI_MEMORY_EXTERNAL;
        if (!KIBI_CORE_EXTERNALS || memory >= kibi_head(c)->external_count) {
            return 0;
        }
        size = external[memory].bytes;
        begins = external[memory].alignment;
    }
    return size <= INT32_MAX && offset <= size && bytes <= size - offset && ((offset | begins) & (alignment - 1u)) == 0;
}

/* Whether all bytes of a part of the arena hold the same. */
static int hold(const kibi_checker *c, uint32_t offset, uint32_t bytes, uint8_t mark)
{
    const uint8_t *marks = c->marks + offset;
    while (bytes != 0 && *marks == mark) {
        ++marks;
        --bytes;
    }
    return bytes == 0;
}

/* A step of a run, as the check sees it. */
typedef struct {
    kibi_run run;
    uint32_t further; /* steps of its run before it */
    uint8_t scratch;  /* what the node's scratch holds afterwards: KEPT where the node is followed, else NOTHING_YET */
} checked_step;

/* Whether a step may use what it is given: its bytes are in their memories, what it reads was written before, and its scratch is
 * apart. */
static KIBI_NOINLINE int step_is_right(const kibi_checker *c, const checked_step *step)
{
    const kibi_file_node *const node = step->run.node;
    const kibi_file_group *group = (const kibi_file_group *)at(c, node->groups);
    const uint32_t arena_bytes = c->graph->arena_bytes, reads = node->read_count, inputs = reads + node->state_count;
    const uint32_t number = step->run.first + step->further;
    uint64_t given = 0;
    uint32_t index = 0;
    if (step->scratch == NOTHING_YET || number == 0) {
        memset(c->marks + node->scratch, step->scratch, node->scratch_bytes); /* so no input is in it */
    } else if (!hold(c, node->scratch, node->scratch_bytes, KEPT)) {
        return 0;
    }
    for (uint32_t k = 0; k < inputs + node->output_count; ++k, ++group) {
        uint32_t nulls = 0;
        for (const uint32_t end = index + group->count; index < end; ++index) {
            uint32_t offset = kibi_entry(c->file, c->graph, step->run.entries, kibi_entry_of(&step->run, index));
            uint32_t memory = KIBI_MEMORY_ARENA;
            const uint32_t moved = kibi_moved(c->file, c->graph, &step->run, index, step->further);
            if (offset >= arena_bytes) {
                offset -= arena_bytes;
                memory = KIBI_MEMORY_STATE;
                if ((node->flags & KIBI_KIND_LEAVES) == 0) {
                    return 0;
                }
                if (offset >= KIBI_STATE_BYTES(kibi_head(c))) {
                    offset -= KIBI_STATE_BYTES(kibi_head(c));
                    const kibi_file_place *const place = (const kibi_file_place *)at(c, c->graph->places) + offset;
                    if (offset >= c->graph->place_count || place->memory == KIBI_MEMORY_ARENA) {
                        return 0;
                    }
                    offset = place->offset;
                    memory = place->memory;
                }
            }
            offset += moved;
            if (KIBI_CORE_NULLS && memory == KIBI_MEMORY_NULL) {
                nulls += 1u;
                if ((group->flags & KIBI_BYTES_NULLABLE) == 0 || k >= reads || moved != 0) {
                    return 0;
                }
                continue;
            }
            if (!are_there(c, memory, offset, group->bytes, group->alignment) || (k >= reads && memory == KIBI_MEMORY_FILE)) {
                return 0;
            }
            if (KIBI_USES_TABLE_OUTPUT) {
                given += k < reads ? group->bytes : 0;
            }
            if (memory != KIBI_MEMORY_ARENA) {
                continue;
            }
            if (k < inputs) {
                if (!hold(c, offset, group->bytes, ELEMENTS)) {
                    return 0;
                }
            } else if (offset < node->scratch + node->scratch_bytes && node->scratch < offset + group->bytes) {
                return 0;
            } else if ((node->flags & KIBI_KIND_ACCUMULATES) == 0 || number + 1u == node->steps) {
                memset(c->marks + offset, ELEMENTS, group->bytes);
            }
        }
        if (KIBI_CORE_NULLS && (group->flags & KIBI_BYTES_REACHES) != 0 && nulls == group->count) {
            return 0;
        }
    }
    return !KIBI_USES_TABLE_OUTPUT || (node->flags & KIBI_KIND_GIVES) == 0 || given <= group[-1].bytes;
}

/* Whether inputs, or outputs, of the graph hold something, which inputs do from the start. */
static int ends_are_right(const kibi_checker *c, int are_outputs)
{
    const kibi_file_graph *const graph = c->graph;
    const kibi_file_port *const ports = (const kibi_file_port *)at(c, kibi_head(c)->ports);
    const uint32_t *const places = (const uint32_t *)at(c, graph->ends);
    const uint32_t inputs = is_model(c) ? kibi_head(c)->input_count : graph->input_count;
    const uint32_t all = is_model(c) ? kibi_head(c)->port_count : inputs + graph->output_count;
    for (uint32_t k = are_outputs ? inputs : 0; k < (are_outputs ? all : inputs); ++k) {
        const uint32_t memory = is_model(c) ? ports[k].memory : KIBI_MEMORY_ARENA;
        const uint32_t place = is_model(c) ? ports[k].place : places[k];
        const uint32_t bytes = is_model(c) ? ports[k].bytes : places[all + k];
        if (memory != KIBI_MEMORY_ARENA) {
            continue;
        }
        if ((!is_model(c) && !are_there(c, memory, place, bytes, 1)) || (are_outputs && !hold(c, place, bytes, ELEMENTS))) {
            return 0;
        }
        if (!are_outputs) {
            memset(c->marks + place, ELEMENTS, bytes);
        }
    }
    return 1;
}

/* Goes through the runs as the core does. Whether each step may use what it is given; and whether a node that counts, if one is
 * followed, has each of its steps once, in order. */
static int runs_are_right(const kibi_checker *c, const kibi_file_node *followed)
{
    const kibi_file_graph *const graph = c->graph;
    const uint8_t *const end = c->file + graph->runs_end;
    uint32_t next = 0;
    checked_step step;
    memset(c->marks, NOTHING_YET, graph->arena_bytes);
    if (!ends_are_right(c, 0)) {
        return 0;
    }
    for (const uint8_t *at_run = c->file + graph->runs; at_run < end; at_run = step.run.next) {
        const uint32_t head = kibi_number(graph, at_run);
        if (head / 2u >= graph->node_count) {
            return 0;
        }
        step.run = kibi_read_run(c->file, graph, at_run); /* reads at most three numbers; the digest follows the last run */
        step.scratch = step.run.node == followed ? KEPT : NOTHING_YET;
        if (step.run.next > end || step.run.count == 0 ||
            (int32_t)step.run.count > (int32_t)(step.run.node->steps - step.run.first) ||
            (KIBI_CORE_SPACED && kibi_spaced(&step.run) == step.run.node->pointers) || /* a slot must come after them */
            (KIBI_CORE_STREAMS && (step.run.node->flags & KIBI_KIND_RECEIVES) != 0 && (head & KIBI_MANY) != 0)) {
            return 0;
        }
        if (step.scratch != NOTHING_YET) {
            if (step.run.first != next) {
                return 0;
            }
            next += step.run.count;
        }
        for (step.further = 0; step.further < step.run.count; ++step.further) {
            if (!step_is_right(c, &step)) {
                return 0;
            }
        }
    }
    return next == (followed == NULL ? 0u : followed->steps) && ends_are_right(c, 1);
}

/* Whether the graphs that a kernel runs come after the one that it is in, so that none runs itself, and fit into its scratch, with
 * all that the kernel copies into them and out of them: `pieces` has rows and bytes of each input, then the bytes of each output. */
static int graphs_are_right(const kibi_checker *c, const kibi_file_node *node, const kibi_kernel *kernel)
{
    const uint32_t *const words = (const uint32_t *)at(c, node->params);
    const uint32_t inputs = words[0], outputs = words[1];
    const uint32_t *const pieces = (const uint32_t *)at(c, node->params + words[2]); /* its contract says how many there are */
    const kibi_file_graph *const graphs = (const kibi_file_graph *)at(c, kibi_head(c)->graphs);
    for (uint32_t word = kernel->first_subgraph; word < kernel->words; ++word) {
        if (words[word] >= kibi_head(c)->graph_count || graphs + words[word] <= c->graph) {
            return 0;
        }
        const kibi_file_graph *const body = graphs + words[word];
        const int is_condition = word - kernel->first_subgraph < kernel->conditions;
        const uint32_t given = is_condition ? 1u : outputs;
        const uint32_t *const bytes = (const uint32_t *)at(c, body->ends) + body->input_count + body->output_count;
        if (body->input_count != inputs || body->output_count < given || body->arena_bytes > node->scratch_bytes ||
            ((node->scratch | c->graph->alignment) & (body->alignment - 1u)) != 0) {
            return 0;
        }
        for (uint32_t k = 0; k < inputs + given; ++k) {
            const uint64_t wanted = k < inputs     ? (uint64_t)pieces[2u * k] * pieces[2u * k + 1u]
                                    : is_condition ? 1u
                                                   : pieces[inputs + k];
            if (k < inputs ? wanted != bytes[k] : wanted > bytes[k]) { /* all of an input is written */
                return 0;
            }
        }
    }
    return 1;
}

static KIBI_NOINLINE int node_is_right(const kibi_checker *c, uint32_t number)
{
    const kibi_file_node *const node = (const kibi_file_node *)at(c, c->graph->nodes) + number;
    const kibi_file_group *const groups = (const kibi_file_group *)at(c, node->groups);
    const uint32_t reads = node->read_count, count = reads + node->state_count + node->output_count;
    const kibi_kernel *const kernel = kibi_kernel_of(c->kernels, node->kernel_id);
    const uint32_t pointers = node->pointers;
    if (!is_fixed(c, node->groups, count, sizeof *groups) ||
        !are_there(c, KIBI_MEMORY_ARENA, node->scratch, node->scratch_bytes, 1) ||
        pointers - (count - reads) != node->rows) { /* its contract says what the groups have */
        return 0;
    }
    /* Rows arrive in all inputs or in none: the first nodes receive them. */
    const kibi_file_port *const port = (const kibi_file_port *)at(c, kibi_head(c)->ports) + number;
    if (KIBI_CORE_STREAMS && is_model(c) && number < kibi_head(c)->input_count && port->memory == KIBI_MEMORY_NULL) {
        return node->flags == KIBI_KIND_RECEIVES && count == 1u && node->output_count == 1u && pointers == 1u &&
               groups->count == 1u && port->row_bytes == groups->bytes;
    }
    if (kernel == NULL || (KIBI_CORE_STREAMS && (node->flags & KIBI_KIND_RECEIVES) != 0) ||
        !is_fixed(c, node->params, kernel->words, 4) ||
        (node->flags & kernel->kind) != kernel->kind ||
        (KIBI_CORE_ENDS_EARLY && (node->flags & KIBI_KIND_EXITS) != 0 &&
         (node->state_count == 0 || groups[reads].bytes < 4u || ((groups[reads].alignment - 1u) & 3u) != 3u)) ||
        (KIBI_CORE_GRAPHS && (node->flags & KIBI_KIND_LOOPS) != 0 && node->scratch_bytes == 0)) {
        return 0;
    }
    const int runs_graphs = KIBI_CORE_GRAPHS && kernel->first_subgraph < kernel->words;
    if (pointers + (runs_graphs ? KIBI_GRAPH_SLOTS : 0u) > kibi_head(c)->most_slots ||
        runs_graphs != ((node->flags & KIBI_KIND_CONTROLS) != 0)) {
        return 0;
    }
    const int holds = kibi_contract_holds(c, node, c->contracts[kernel - c->kernels->kernels]);
    return holds && runs_graphs ? graphs_are_right(c, node, kernel) : holds;
}

/* Whether the core reads entries of that width; the table that bytes name is in the file. */
static int width_is_right(const kibi_file_graph *graph)
{
    return graph->width == 1u ? KIBI_CORE_WEIGHTS || graph->runs >= KIBI_TABLE_BYTES
                              : (KIBI_CORE_HALVES && graph->width == 2u) || (KIBI_CORE_WIDE && graph->width == 4u);
}

#if KIBI_CORE_WEIGHTS
/* Whether the runs of the graph that is looked at, and the table before them, are no weights. */
static int runs_are_fixed(const kibi_checker *c)
{
    const uint32_t table = KIBI_WIDTH(c->graph) == 1u ? KIBI_TABLE_BYTES : 0u;
    return is_fixed(c, c->graph->runs - table, table / 2u, 2);
}
#else
#define runs_are_fixed(c) ((c)->graph->runs % 2u == 0)
#endif

/* Whether runs of bytes end in the byte at which a core stops. */
static int runs_end_is_right(const kibi_checker *c)
{
    return KIBI_WIDTH(c->graph) != 1u || (c->file[c->graph->runs_end] & KIBI_MANY) != 0; /* the digest is after the last byte */
}

static KIBI_NOINLINE int graph_is_right(const kibi_checker *c)
{
    const kibi_file_graph *const graph = c->graph;
    const kibi_file_node *const nodes = (const kibi_file_node *)at(c, graph->nodes);
    /* The alignment is a power of two, and that of the arena is a multiple of it. */
    if (((graph->alignment | kibi_head(c)->arena_alignment) & (graph->alignment - 1u)) != 0 ||
        graph->arena_bytes > kibi_head(c)->arena_bytes ||
        !width_is_right(graph) || !is_fixed(c, graph->nodes, graph->node_count, sizeof *nodes) ||
        !is_fixed(c, graph->places, graph->place_count, sizeof(kibi_file_place)) ||
        graph->runs_end > c->end || graph->runs_end <= graph->runs || !runs_are_fixed(c) || !runs_end_is_right(c) ||
        (!is_model(c) && !is_fixed(c, graph->ends, 2u * ((uint32_t)graph->input_count + graph->output_count), 4))) {
        return 0;
    }
    for (uint32_t number = 0; number < graph->node_count; ++number) {
        if (!node_is_right(c, number)) {
            return 0;
        }
    }
    for (uint32_t number = 0; number < graph->node_count; ++number) {
        if ((nodes[number].flags & KIBI_KIND_COUNTS) != 0 && !runs_are_right(c, &nodes[number])) {
            return 0;
        }
    }
    return runs_are_right(c, NULL);
}

/* Whether inputs and outputs, their names and shapes are there. */
static int ports_are_right(const kibi_checker *c)
{
    static const uint8_t sizes[] = {1, 1, 2, 4, 4, 8, 8, 4, 1};
    const kibi_file_header *const header = kibi_head(c);
    const kibi_file_port *const ports = (const kibi_file_port *)at(c, header->ports), *port = ports;
    for (uint32_t k = 0; k < header->port_count; ++k, ++port) {
        const int is_input = k < header->input_count;
        if (port->type > KIBI_TYPE_BOOL || !is_text(c, port->name) || !is_fixed(c, port->shape, port->rank, 4)) {
            return 0;
        }
        uint32_t rest = port->bytes;
        for (uint32_t axis = 0; axis < port->rank; ++axis) {
            const uint32_t size = ((const uint32_t *)at(c, port->shape))[axis];
            if (size == 0 || rest % size != 0) {
                return 0;
            }
            rest /= size;
        }
        /* Rows arrive in all inputs or in none, and in no output. */
        const int is_row = KIBI_CORE_STREAMS && is_input && port->memory == KIBI_MEMORY_NULL;
        if (rest != sizes[port->type] || (is_input && port->memory == KIBI_MEMORY_FILE) ||
            (KIBI_CORE_STREAMS && is_input && is_row != (ports->memory == KIBI_MEMORY_NULL)) ||
            (is_row ? port->bytes > INT32_MAX : !are_there(c, port->memory, port->place, port->bytes, sizes[port->type]))) {
            return 0;
        }
    }
    return 1;
}

static int variables_are_right(const kibi_checker *c)
{
    const kibi_file_header *const header = kibi_head(c);
    const kibi_file_variable *variable = (const kibi_file_variable *)at(c, header->variables);
    for (uint32_t left = KIBI_CORE_STATES ? header->variable_count : 0; left != 0; --left, ++variable) {
        if (!are_there(c, KIBI_MEMORY_STATE, variable->place, variable->bytes, 1) || !is_text(c, variable->name) ||
            (variable->initial != 0 && !is_fixed(c, variable->initial, variable->bytes, 1))) {
            return 0;
        }
    }
    const kibi_file_external *external = (const kibi_file_external *)at(c, header->externals);
    for (uint32_t left = KIBI_CORE_EXTERNALS ? header->external_count : 0; left != 0; --left, ++external) {
        if (!is_power(external->alignment)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the file is what its header says, and nobody has changed it. */
static int file_is_right(kibi_checker *c)
{
    /* The tables that the header names, in its order: bytes of a record. */
    static const uint8_t records[] = {4, sizeof(kibi_file_graph), sizeof(kibi_file_port), sizeof(kibi_file_variable),
                                      sizeof(kibi_file_external)};
    const kibi_file_header *const header = kibi_head(c);
    if (header->file_bytes % 4u != 0 || header->file_bytes < sizeof *header + DIGEST_BYTES ||
        (header->alignment != 4u && header->alignment != 8u) ||
        (KIBI_CORE_EXTERNALS && header->external_count > KIBI_MEMORY_NULL - KIBI_MEMORY_EXTERNAL) ||
        header->input_count >= header->port_count ||
        header->graph_count == 0) {
        return 0;
    }
    c->end = header->file_bytes - DIGEST_BYTES;
#if KIBI_CORE_WEIGHTS
    c->weights_end = header->fences != 0 ? *(const uint32_t *)at(c, c->end - 4u) : 0; /* where the last fence ends */
    if (c->end - c->weights_end < header->fences * (uint32_t)sizeof(kibi_file_fence)) { /* if they end later, no record is fixed */
        return 0;
    }
#endif
    const uint32_t *const offsets = (const uint32_t *)at(c, offsetof(kibi_file_header, kernels));
    const uint16_t *const counts = (const uint16_t *)at(c, offsetof(kibi_file_header, kernel_count));
    for (uint32_t table = 0; table < sizeof records; ++table) {
        if (!is_fixed(c, offsets[table], counts[table], records[table])) {
            return 0;
        }
    }
    return c->file[c->end - 1u] == 0 &&
           kibi_sha256_is((const uint32_t *)at(c, c->end), (const uint32_t *)at(c, 0), c->end / 4u, c->work);
}

static int all_is_right(kibi_checker *c)
{
    const kibi_file_header *const header = kibi_head(c);
    const kibi_file_graph *const graphs = (const kibi_file_graph *)at(c, header->graphs);
    c->graph = graphs;
    if (!is_text(c, header->name) || !variables_are_right(c) || !ports_are_right(c)) {
        return 0;
    }
    for (uint32_t k = KIBI_CORE_GRAPHS ? header->graph_count : 1u; k-- != 0;) {
        c->graph = graphs + k;
        if (!graph_is_right(c)) {
            return 0;
        }
    }
    return 1;
}

kibi_status kibi_model_open(kibi_model *model, const void *file, size_t bytes, const kibi_checked_kernels *kernels,
                            void *arena, size_t arena_bytes)
{
    if (file == NULL || kernels == NULL || kernels->contracts == NULL) { /* kibi_model_open_trusted looks at the rest */
        return kibi_refused(KIBI_ERROR_NULL);
    }
    kibi_checker c;
    c.file = (const uint8_t *)file;
    c.kernels = kernels->kernels;
    c.contracts = kernels->contracts;
    kibi_model_close(model);
    if (!kibi_is_file(file, bytes) || !file_is_right(&c)) {
        return kibi_refused(KIBI_ERROR_FILE);
    }
    /* It says what is missing. */
    const kibi_status status = kibi_open_file(model, file, bytes, kernels->kernels, arena, arena_bytes);
    if (status != KIBI_OK) {
        return status;
    }
    c.marks = model->arena;
    if (KIBI_CORE_LEASE != 0) { /* the arena is used: whoever had it notices */
        memset(arena, 0, KIBI_LEAD_BYTES(kibi_head(&c)));
    }
    if (!all_is_right(&c)) {
        kibi_model_close(model);
        return kibi_refused(KIBI_ERROR_FILE);
    }
    if (KIBI_CORE_STATES) {
        kibi_expect_kernels(model);
    }
    return KIBI_OK;
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
