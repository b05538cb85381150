/* Checks a plan file before it is opened: after that no file, however made, leads a kernel out of its memory. */
#include <string.h>

#include "kibi_check.h"
#include "kibi_features.h"
#include "kibi_open.h"
#include "kibi_sha256.h"

#define DIGEST_BYTES 32u
#define FEW_NODES 8u

int kibi_is_inside(const kibi_checker *c, uint32_t offset, uint32_t count, uint32_t size, uint32_t alignment)
{
    return offset % alignment == 0 && offset <= c->end && (uint64_t)count * size <= c->end - offset;
}

static const void *at(const kibi_checker *c, uint32_t offset)
{
    return c->file + offset;
}

static const kibi_file_tensor *tensor_of(const kibi_checker *c, uint32_t number)
{
    return (const kibi_file_tensor *)at(c, c->graph->tensors) + number;
}

static const kibi_file_node *node_of(const kibi_checker *c, uint32_t number)
{
    return (const kibi_file_node *)at(c, c->graph->nodes) + number;
}

/* Whether a text ends in the file; 0 is no text. */
static int is_text(const kibi_checker *c, uint32_t offset)
{
    uint32_t place = offset;
    while (place < c->end && c->file[place] != 0) {
        ++place;
    }
    return offset == 0 || place < c->end;
}

/* The entry of a tensor's table, or the place in its ring, for a row. */
static uint32_t entry_of(const kibi_checker *c, const kibi_file_tensor *tensor, uint32_t row)
{
    const void *const table = at(c, tensor->table);
    return tensor->placing == KIBI_PLACING_LINEAR   ? row
           : tensor->placing == KIBI_PLACING_RING   ? row % tensor->period
           : tensor->placing == KIBI_PLACING_BYTES  ? ((const uint8_t *)table)[row]
           : tensor->placing == KIBI_PLACING_HALVES ? ((const uint16_t *)table)[row]
                                                    : ((const uint32_t *)table)[row];
}

/* The place of a row, as the core computes it. */
static uint32_t place_of(const kibi_checker *c, const kibi_file_tensor *tensor, uint32_t row)
{
    return tensor->base + entry_of(c, tensor, row) * tensor->step;
}

/* Bytes of the memory that a tensor is in, and its alignment. */
static uint32_t memory_of(const kibi_checker *c, const kibi_file_tensor *tensor, uint32_t *alignment)
{
    const uint32_t memory = tensor->memory;
    *alignment = memory == KIBI_MEMORY_ARENA ? c->graph->alignment : 8u;
    if (memory == KIBI_MEMORY_ARENA) {
        return c->graph->arena_bytes;
    }
    if (memory == KIBI_MEMORY_STATE) {
        return c->header->state_bytes;
    }
    if (memory == KIBI_MEMORY_FILE) {
        *alignment = c->header->alignment;
        return c->end;
    }
    if (memory - KIBI_MEMORY_EXTERNAL < c->header->external_count) {
        const kibi_file_external *const external =
            (const kibi_file_external *)at(c, c->header->externals) + (memory - KIBI_MEMORY_EXTERNAL);
        *alignment = external->alignment;
        return external->bytes;
    }
    return 0;
}

/* Whether each row of a tensor is in its memory. */
static int tensor_is_right(const kibi_checker *c, const kibi_file_tensor *tensor)
{
    uint32_t alignment;
    const uint32_t memory = memory_of(c, tensor, &alignment);
    const uint32_t width = tensor->placing < KIBI_PLACING_BYTES ? 0u : 1u << (tensor->placing - KIBI_PLACING_BYTES) % 4u;
    if (tensor->rows == 0 || tensor->rows > INT32_MAX || tensor->row_bytes == 0 || tensor->row_bytes > memory ||
        tensor->placing > KIBI_PLACING_WORDS || (tensor->placing == KIBI_PLACING_RING && tensor->period == 0) ||
        (width != 0 && !kibi_is_inside(c, tensor->table, tensor->rows, width, width))) {
        return 0;
    }
    /* Of rows that are evenly spaced the first and the last one tell, if the numbers between do not wrap around. */
    const uint32_t most = memory - tensor->row_bytes;
    const uint32_t rows = tensor->placing == KIBI_PLACING_RING && tensor->period < tensor->rows ? tensor->period : tensor->rows;
    if (width == 0) {
        const int64_t last = tensor->base + (int64_t)(int32_t)tensor->step * (int64_t)(rows - 1u);
        return tensor->base <= most && last >= 0 && last <= most;
    }
    for (uint32_t row = 0; row < rows; ++row) {
        if (place_of(c, tensor, row) > most || (uint64_t)entry_of(c, tensor, row) * tensor->step > most) {
            return 0;
        }
    }
    return 1;
}

int kibi_is_aligned(const kibi_checker *c, const kibi_file_tensor *tensor, uint32_t alignment)
{
    uint32_t memory;
    (void)memory_of(c, tensor, &memory);
    return memory % alignment == 0 && tensor->base % alignment == 0 && (tensor->rows == 1 || tensor->step % alignment == 0);
}

uint32_t kibi_together(const kibi_checker *c, const kibi_file_tensor *tensor, uint32_t row, uint32_t count)
{
    uint32_t found = 1;
    while (found < count && place_of(c, tensor, row + found) == place_of(c, tensor, row + found - 1u) + tensor->row_bytes) {
        ++found;
    }
    return found;
}

kibi_file_window kibi_window_of(const kibi_checker *c, const kibi_file_node *node, const kibi_file_read *read)
{
    const kibi_file_window single = {1, 0, 1, 0, node->steps, node->steps, 1, 0};
    const int is_single = (read->flags & KIBI_READING_SINGLE) != 0;
    return is_single ? single : *(const kibi_file_window *)at(c, read->window);
}

/* Whether what a node reads of an input exists. */
static int read_is_right(const kibi_checker *c, const kibi_file_node *node, const kibi_file_read *read)
{
    if (read->tensor >= c->graph->tensor_count ||
        ((read->flags & KIBI_READING_SINGLE) == 0 && !kibi_is_inside(c, read->window, 1, sizeof(kibi_file_window), 4))) {
        return 0;
    }
    const kibi_file_tensor *const tensor = tensor_of(c, read->tensor);
    const kibi_file_window window = kibi_window_of(c, node, read);
    if (window.parts == 0 || tensor->row_bytes % window.parts != 0 || window.steps == 0 || window.count == 0 ||
        window.dilation < 0 || (uint64_t)tensor->rows * window.parts > INT32_MAX ||
        (window.filler != 0 && !kibi_is_inside(c, window.filler, 1, tensor->row_bytes / window.parts, 4))) {
        return 0;
    }
    const uint32_t batches = (read->flags & KIBI_READING_SHARED) != 0 ? 1u : (node->steps - 1u) / window.steps + 1u;
    return (uint64_t)batches * window.rows <= (uint64_t)tensor->rows * window.parts;
}

/* The rows of a tensor that a step of a node needs, up to the last one; 0: it needs none. */
static uint32_t needed(const kibi_checker *c, const kibi_file_node *node, const kibi_file_read *read, uint32_t step)
{
    const kibi_file_window window = kibi_window_of(c, node, read);
    const uint32_t batch = (read->flags & KIBI_READING_SHARED) != 0 ? 0 : step / window.steps;
    const int64_t first = window.start + (int64_t)window.stride * (step % window.steps);
    int64_t last = first + (int64_t)window.dilation * (window.count - 1u);
    last = last < (int64_t)window.rows ? last : (int64_t)window.rows - 1;
    return last < 0 ? 0 : (batch * window.rows + (uint32_t)last) / window.parts + 1u;
}

int kibi_always_reaches(const kibi_file_node *node, const kibi_file_window *window)
{
    const uint32_t steps = window->steps < node->steps ? window->steps : node->steps;
    for (uint32_t step = 0; window->filler == 0 && step < steps; ++step) {
        int64_t row = window->start + (int64_t)window->stride * step;
        uint32_t k = 0;
        while (row < 0 && ++k < window->count) {
            row += window->dilation;
        }
        if (row < 0 || row >= (int64_t)window->rows) {
            return 0;
        }
    }
    return 1;
}

int kibi_may_be_null(const kibi_file_node *node, const kibi_file_window *window)
{
    const uint32_t steps = window->steps < node->steps ? window->steps : node->steps;
    const int64_t end = window->start + (int64_t)window->stride * (steps - 1u); /* the first row of the last step */
    const int64_t low = end < window->start ? end : window->start, high = end < window->start ? window->start : end;
    return window->filler == 0 && (low < 0 || high + (int64_t)window->dilation * (window->count - 1u) >= (int64_t)window->rows);
}

/* Whether the rows that a node makes exist, may be written, and are stored one after another as its kernel writes them. */
static int write_is_right(const kibi_checker *c, uint32_t number, const kibi_file_node *node, const kibi_file_write *write)
{
    if (write->tensor >= c->graph->tensor_count) {
        return 0;
    }
    const kibi_file_tensor *const tensor = tensor_of(c, write->tensor);
    const int accumulates = (node->flags & KIBI_KIND_ACCUMULATES) != 0;
    if (tensor->memory == KIBI_MEMORY_FILE || tensor->producer != number || (write->rows == 0 && !accumulates) ||
        tensor->made != (accumulates ? 0 : write->rows)) {
        return 0;
    }
    if (accumulates) {
        return 1;
    }
    if ((uint64_t)node->steps * write->rows > tensor->rows) {
        return 0;
    }
    for (uint32_t step = 0; step < node->steps; ++step) {
        if (write->rows > 1 && kibi_together(c, tensor, step * write->rows, write->rows) < write->rows) {
            return 0;
        }
    }
    return 1;
}

static int state_is_right(const kibi_checker *c, const kibi_file_write *write)
{
    return write->rows == 0 && write->tensor < c->graph->tensor_count &&
           tensor_of(c, write->tensor)->memory == KIBI_MEMORY_STATE;
}

/* Whether the graphs that a kernel runs come after the one that it is in, so that none runs itself, and fit into its scratch, with
 * all that the kernel copies into them and out of them: `pieces` has rows and bytes of each input, then the bytes of each output. */
static int graphs_are_right(const kibi_checker *c, const kibi_file_node *node, const kibi_kernel *kernel)
{
    const uint32_t *const words = (const uint32_t *)at(c, node->params);
    const uint32_t inputs = words[0], outputs = words[1];
    const uint32_t *const pieces = (const uint32_t *)at(c, words[2]); /* its contract says how many there are */
    const kibi_file_graph *const graphs = (const kibi_file_graph *)at(c, c->header->graphs);
    for (uint32_t word = kernel->first_subgraph; word < kernel->words; ++word) {
        if (words[word] >= c->header->graph_count || graphs + words[word] <= c->graph) {
            return 0;
        }
        const kibi_file_graph *const body = graphs + words[word];
        const int is_condition = word - kernel->first_subgraph < kernel->conditions;
        const uint32_t given = is_condition ? 1u : outputs;
        if (body->input_count < inputs || body->output_count < given ||
            body->arena_bytes > node->scratch_bytes || node->scratch % body->alignment != 0 ||
            c->graph->alignment % body->alignment != 0) {
            return 0;
        }
        for (uint32_t k = 0; k < inputs + given; ++k) {
            const int is_input = k < inputs;
            const uint32_t place = ((const uint32_t *)at(c, is_input ? body->inputs : body->outputs))[is_input ? k : k - inputs];
            const uint64_t bytes = is_input       ? (uint64_t)pieces[2u * k] * pieces[2u * k + 1u]
                                   : is_condition ? 1u
                                                  : pieces[inputs + k];
            if (place > body->arena_bytes || bytes > body->arena_bytes - place) {
                return 0;
            }
        }
    }
    return 1;
}

/* Whether no row of a tensor that a node touches is in the node's scratch: then a kernel finds there what it left. */
static int is_apart(const kibi_checker *c, const kibi_file_node *node, uint32_t number)
{
    const kibi_file_tensor *const tensor = tensor_of(c, number);
    for (uint32_t row = 0; tensor->memory == KIBI_MEMORY_ARENA && row < tensor->rows; ++row) {
        const uint32_t place = place_of(c, tensor, row);
        if (place < node->scratch + node->scratch_bytes && node->scratch < place + tensor->row_bytes) {
            return 0;
        }
    }
    return 1;
}

static int node_is_right(const kibi_checker *c, uint32_t number)
{
    const kibi_file_node *const node = node_of(c, number);
    const uint32_t writes = (uint32_t)node->output_count + node->state_count;
    if (node->steps == 0 || node->steps > INT16_MAX || node->write_count != writes || node->output_count == 0 ||
        !kibi_is_inside(c, node->reads, node->read_count, sizeof(kibi_file_read), 4) ||
        !kibi_is_inside(c, node->writes, writes, sizeof(kibi_file_write), 4) || node->slots > c->header->most_slots ||
        (node->scratch != KIBI_NOTHING &&
         (node->scratch > c->graph->arena_bytes || node->scratch_bytes > c->graph->arena_bytes - node->scratch))) {
        return 0;
    }
    const kibi_file_read *const reads = (const kibi_file_read *)at(c, node->reads);
    const kibi_file_write *const made = (const kibi_file_write *)at(c, node->writes);
    uint64_t rows = writes;
    for (uint32_t k = 0; k < node->read_count; ++k) {
        if (!read_is_right(c, node, &reads[k])) {
            return 0;
        }
        if (node->scratch != KIBI_NOTHING && !is_apart(c, node, reads[k].tensor)) {
            return 0;
        }
        rows += kibi_window_of(c, node, &reads[k]).count;
    }
    for (uint32_t k = 0; k < writes; ++k) {
        if (k < node->output_count ? !write_is_right(c, number, node, &made[k]) : !state_is_right(c, &made[k])) {
            return 0;
        }
        if (node->scratch != KIBI_NOTHING && !is_apart(c, node, made[k].tensor)) {
            return 0;
        }
    }
    if (KIBI_CORE_ENDS_EARLY && (node->flags & KIBI_KIND_EXITS) != 0) {
        if (node->state_count == 0) {
            return 0;
        }
        const kibi_file_tensor *const state = tensor_of(c, made[node->output_count].tensor);
        if (state->row_bytes < 4u || !kibi_is_aligned(c, state, 4)) {
            return 0;
        }
    }
    if ((node->flags & KIBI_KIND_RECEIVES) != 0) {
        return c->graph == at(c, c->header->graphs) && number < c->header->input_count && writes == 1 &&
               made[0].rows == 1 && rows == 1;
    }
    const kibi_kernel *const kernel = kibi_kernel_of(c->kernels, node->kernel_id);
    if (kernel == NULL || !kibi_is_inside(c, node->params, kernel->words, 4, 4) || node->rows != rows ||
        (KIBI_CORE_GRAPHS && (node->flags & KIBI_KIND_LOOPS) != 0 && (node->scratch == KIBI_NOTHING || node->scratch_bytes == 0))) {
        return 0;
    }
    const int runs_graphs = KIBI_CORE_GRAPHS && kernel->first_subgraph < kernel->words;
    /* As many slots as the core uses: words are copied by four. */
    const uint32_t slots = node->rows + (kernel->words + 3u) / 4u * 4u + (runs_graphs ? 16u : 0u);
    if (node->slots < slots || runs_graphs != ((node->flags & KIBI_KIND_CONTROLS) != 0)) {
        return 0;
    }
    return kibi_contract_holds(c, node, c->contracts[kernel - c->kernels->kernels]) &&
           (!runs_graphs || graphs_are_right(c, node, kernel));
}

/* Whether a tensor that no node makes has elements from the start: the caller writes them, or they are constants or variables. */
static int is_given(const kibi_checker *c, uint32_t number)
{
    const kibi_file_tensor *const tensor = tensor_of(c, number);
    const int is_model = c->graph == at(c, c->header->graphs);
    const uint32_t count = is_model ? c->header->input_count : c->graph->input_count;
    const kibi_file_port *const ports = (const kibi_file_port *)at(c, c->header->inputs);
    const uint32_t *const places = (const uint32_t *)at(c, c->graph->inputs);
    for (uint32_t k = 0; k < count; ++k) {
        if (is_model ? ports[k].tensor == number : places[k] == tensor->base) {
            return 1;
        }
    }
    return tensor->memory != KIBI_MEMORY_ARENA;
}

/* One step of a node, as the order has it. For nodes from `first` on, for as many as there is room, its number must be the next one;
 * and the rows of theirs that it reads must be there. */
static int step_is_right(const kibi_checker *c, uint32_t number, uint32_t step, uint32_t first)
{
    const kibi_file_node *const node = node_of(c, number);
    const kibi_file_read *const reads = (const kibi_file_read *)at(c, node->reads);
    for (uint32_t k = 0; k < node->read_count; ++k) {
        const kibi_file_tensor *const tensor = tensor_of(c, reads[k].tensor);
        const uint32_t producer = tensor->producer;
        if (producer >= c->graph->node_count || producer - first >= c->room) {
            continue;
        }
        const uint32_t done = c->done[producer - first];
        const int is_whole = done == node_of(c, producer)->steps;
        if (!is_whole && needed(c, node, &reads[k], step) > (uint64_t)done * tensor->made) {
            return 0;
        }
    }
    if (number - first < c->room) {
        if (c->done[number - first] != step) {
            return 0;
        }
        c->done[number - first] = step + 1u;
    }
    return 1;
}

/* Goes through the order as the core does. Whether each node from `first` on, for as many as there is room, has all of its steps
 * once. */
static int order_is_right(const kibi_checker *c, uint32_t first)
{
    const kibi_file_graph *const graph = c->graph;
    uint64_t left = 0; /* so many turns of lines at most: as many as steps, and some that have none */
    uint32_t turn = 0, plain = 0;
    for (uint32_t number = 0; number < graph->node_count; ++number) {
        left += 4u * (uint64_t)node_of(c, number)->steps + 64u;
    }
    memset(c->done, 0, c->room * sizeof c->done[0]);
    for (uint32_t at_line = 0; at_line < graph->line_count;) {
        const kibi_file_line *const line = (const kibi_file_line *)at(c, graph->lines) + at_line;
        const uint32_t start = line->start, last = line->last, steps = line->steps;
        if (start >= graph->node_count) {
            if (last > plain || last == 0 || left < last) { /* no repetition in a repetition */
                return 0;
            }
            ++turn;
            at_line = turn < steps ? at_line - last : at_line + 1u;
            if (turn >= steps) {
                turn = 0;
                plain = 0;
            } else {
                plain -= last;
            }
            continue;
        }
        const int32_t begin = line->step + (int32_t)turn * line->further; /* 16 bits each: no overflow */
        if (last < start || last >= graph->node_count || left < last - start + 1u) {
            return 0;
        }
        left -= last - start + 1u;
        for (uint32_t number = start; number <= last; ++number) {
            const int32_t most = (int32_t)node_of(c, number)->steps, after = begin + (int32_t)steps;
            const int32_t end = after < most ? after : most;
            for (int32_t step = begin > 0 ? begin : 0; step < end; ++step) {
                if (!step_is_right(c, number, (uint32_t)step, first)) {
                    return 0;
                }
            }
        }
        ++at_line;
        ++plain;
    }
    for (uint32_t k = 0; k < c->room && first + k < graph->node_count; ++k) {
        if (c->done[k] != node_of(c, first + k)->steps) {
            return 0;
        }
    }
    return 1;
}

static int graph_is_right(const kibi_checker *c)
{
    const kibi_file_graph *const graph = c->graph;
    if (graph->node_count == 0 || (graph->alignment & (graph->alignment - 1u)) != 0 || graph->alignment == 0 ||
        graph->alignment > c->header->arena_alignment || graph->arena_bytes > c->header->arena_bytes ||
        !kibi_is_inside(c, graph->nodes, graph->node_count, sizeof(kibi_file_node), 4) ||
        !kibi_is_inside(c, graph->tensors, graph->tensor_count, sizeof(kibi_file_tensor), 4) ||
        !kibi_is_inside(c, graph->lines, graph->line_count, sizeof(kibi_file_line), 4) ||
        !kibi_is_inside(c, graph->inputs, graph->input_count, 4, 4) ||
        !kibi_is_inside(c, graph->outputs, graph->output_count, 4, 4)) {
        return 0;
    }
    for (uint32_t number = 0; number < graph->tensor_count; ++number) {
        const kibi_file_tensor *const tensor = tensor_of(c, number);
        if (!tensor_is_right(c, tensor) ||
            (tensor->producer != 0xFFFFu ? tensor->producer >= graph->node_count : !is_given(c, number))) {
            return 0;
        }
    }
    for (uint32_t number = 0; number < graph->node_count; ++number) {
        if (!node_is_right(c, number)) {
            return 0;
        }
    }
    for (uint32_t first = 0; first < graph->node_count; first += c->room) {
        if (!order_is_right(c, first)) {
            return 0;
        }
    }
    return 1;
}

/* Whether inputs and outputs, their names and shapes are there, and their elements one after another. */
static int ports_are_right(const kibi_checker *c, uint32_t offset, uint32_t count, int are_inputs)
{
    if (!kibi_is_inside(c, offset, count, sizeof(kibi_file_port), 4)) {
        return 0;
    }
    const kibi_file_port *const ports = (const kibi_file_port *)at(c, offset);
    for (uint32_t k = 0; k < count; ++k) {
        if (ports[k].tensor >= c->graph->tensor_count || ports[k].type > KIBI_TYPE_BOOL || !is_text(c, ports[k].name) ||
            !kibi_is_inside(c, ports[k].shape, ports[k].rank, 4, 4)) {
            return 0;
        }
        static const uint8_t sizes[] = {1, 1, 2, 4, 4, 8, 8, 4, 1};
        uint64_t bytes = sizes[ports[k].type];
        for (uint32_t axis = 0; axis < ports[k].rank; ++axis) {
            bytes *= ((const uint32_t *)at(c, ports[k].shape))[axis];
            if (bytes > INT32_MAX) {
                return 0;
            }
        }
        const kibi_file_tensor *const tensor = tensor_of(c, ports[k].tensor);
        const int is_received = tensor->producer == k && are_inputs;
        if (bytes != (uint64_t)tensor->rows * tensor->row_bytes || !kibi_is_aligned(c, tensor, sizes[ports[k].type]) ||
            (are_inputs && tensor->memory == KIBI_MEMORY_FILE) ||
            (!is_received && kibi_together(c, tensor, 0, tensor->rows) != tensor->rows)) {
            return 0;
        }
    }
    return 1;
}

static int variables_are_right(const kibi_checker *c)
{
    const kibi_file_header *const header = c->header;
    if (!kibi_is_inside(c, header->variables, header->variable_count, sizeof(kibi_file_variable), 4)) {
        return 0;
    }
    const kibi_file_variable *variable = (const kibi_file_variable *)at(c, header->variables);
    for (uint32_t left = header->variable_count; left != 0; --left, ++variable) {
        if (variable->place > header->state_bytes || variable->bytes > header->state_bytes - variable->place ||
            variable->fill > 255u || !is_text(c, variable->name) ||
            (variable->initial != 0 && !kibi_is_inside(c, variable->initial, variable->bytes, 1, 1))) {
            return 0;
        }
    }
    return 1;
}

/* Whether the file is what its header says, and nobody has changed it. */
static int file_is_right(kibi_checker *c, size_t bytes)
{
    const kibi_file_header *const header = c->header;
    uint8_t digest[DIGEST_BYTES];
    if (bytes < sizeof *header + DIGEST_BYTES || header->magic != KIBI_FILE_MAGIC ||
        header->version != KIBI_FILE_VERSION || header->required != 0 || header->file_bytes > bytes ||
        header->file_bytes % 4u != 0 || header->file_bytes < sizeof *header + DIGEST_BYTES ||
        (header->alignment != 4u && header->alignment != 8u) || (uintptr_t)c->file % header->alignment != 0 ||
        header->arena_alignment == 0 || header->arena_alignment > 64u ||
        (header->arena_alignment & (header->arena_alignment - 1u)) != 0 || header->arena_bytes > INT32_MAX ||
        header->state_bytes > INT32_MAX || header->state_bytes % 8u != 0 || header->graph_count == 0 ||
        header->output_count == 0) {
        return 0;
    }
    c->end = header->file_bytes - DIGEST_BYTES;
    kibi_sha256(digest, c->file, c->end);
    uint32_t differs = 0;
    for (uint32_t k = 0; k < DIGEST_BYTES; ++k) {
        differs |= (uint32_t)(digest[k] ^ c->file[c->end + k]);
    }
    return differs == 0;
}

/* Whether rows arrive in all inputs or in none: the nodes that receive them are the first. */
static int streams_are_right(const kibi_checker *c)
{
    uint32_t count = 0;
    while (count < c->graph->node_count && (node_of(c, count)->flags & KIBI_KIND_RECEIVES) != 0) {
        ++count;
    }
    for (uint32_t number = count; number < c->graph->node_count; ++number) {
        if ((node_of(c, number)->flags & KIBI_KIND_RECEIVES) != 0) {
            return 0;
        }
    }
    return count == 0 || count == c->header->input_count;
}

static int all_is_right(kibi_checker *c)
{
    const kibi_file_header *const header = c->header;
    const kibi_file_graph *const graphs = (const kibi_file_graph *)at(c, header->graphs);
    const kibi_file_external *const externals = (const kibi_file_external *)at(c, header->externals);
    if (!kibi_is_inside(c, header->graphs, header->graph_count, sizeof *graphs, 4) ||
        !kibi_is_inside(c, header->externals, header->external_count, sizeof *externals, 4) ||
        !kibi_is_inside(c, header->inputs, header->input_count, sizeof(kibi_file_port), 4) || !is_text(c, header->name)) {
        return 0;
    }
    for (uint32_t k = 0; k < header->external_count; ++k) {
        if (externals[k].alignment == 0 || externals[k].alignment > 8u || 8u % externals[k].alignment != 0 ||
            externals[k].bytes > INT32_MAX) {
            return 0;
        }
    }
    for (uint32_t k = header->graph_count; k-- != 0;) {
        c->graph = graphs + k;
        if (!graph_is_right(c)) {
            return 0;
        }
    }
    return graphs->arena_bytes == header->arena_bytes && streams_are_right(c) && variables_are_right(c) &&
           ports_are_right(c, header->inputs, header->input_count, 1) &&
           ports_are_right(c, header->outputs, header->output_count, 0);
}

kibi_status kibi_model_open(kibi_model *model, const void *file, size_t bytes, const kibi_checked_kernels *kernels,
                            void *arena, size_t arena_bytes)
{
    kibi_checker c = {(const uint8_t *)file, (const kibi_file_header *)file, NULL, 0, NULL, NULL, NULL, 0};
    uint32_t few[FEW_NODES];
    if (model == NULL || file == NULL || kernels == NULL || kernels->kernels == NULL || kernels->contracts == NULL ||
        (uintptr_t)file % 4u != 0 || !file_is_right(&c, bytes) ||
        !kibi_is_inside(&c, c.header->kernels, c.header->kernel_count, 4, 4)) {
        /* The trusting function says what is missing, or refuses a file that is none. */
        if (model != NULL && file != NULL && kernels != NULL) {
            kibi_model_close(model);
            return kibi_refused(KIBI_ERROR_FILE);
        }
        return kibi_refused(KIBI_ERROR_NULL);
    }
    const kibi_status status = kibi_model_open_trusted(model, file, bytes, kernels->kernels, arena, arena_bytes);
    if (status != KIBI_OK) {
        return status;
    }
    c.kernels = kernels->kernels;
    c.contracts = kernels->contracts;
    const uint32_t skip = (uint32_t)(-(uintptr_t)arena & 3u);
    c.done = few;
    c.room = FEW_NODES;
    if (c.header->arena_bytes / 4u > FEW_NODES) {
        c.done = (uint32_t *)(void *)((uint8_t *)arena + skip);
        c.room = (c.header->arena_bytes - skip) / 4u;
    }
    if (!all_is_right(&c)) {
        kibi_model_close(model);
        return kibi_refused(KIBI_ERROR_FILE);
    }
    return KIBI_OK;
}
