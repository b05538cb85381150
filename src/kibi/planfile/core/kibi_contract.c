/* Evaluates the contract of a kernel for a node: operations on a stack, made by kibi.kernels.params.contract. */
#include <string.h>

#include "kibi_check.h"
#include "kibi_features.h"

#define DEPTH 12

/* An operation. No contract of this core has one that its kernels do not use: then the compiler drops what it does. */
#define OPERATION(name)                 \
    case KIBI_OP_##name:                \
        if (!KIBI_USES_##name) {        \
            return 0;                   \
        }

/* Two of them, which have their code in common. */
#define OPERATIONS(one, other)                       \
    case KIBI_OP_##one:                              \
    case KIBI_OP_##other:                            \
        if (!KIBI_USES_##one && !KIBI_USES_##other) { \
            return 0;                                \
        }

/* A contract that is evaluated. */
typedef struct {
    const kibi_checker *c;
    const kibi_file_node *node;
    const uint8_t *params;
    uint32_t reads, outputs, states; /* how many were named */
    const uint8_t *array;            /* the last one, */
    uint32_t count, size;            /* its elements, and the bytes of one */
} contract;

static const kibi_file_tensor *tensor_of(const contract *k, uint32_t number)
{
    return (const kibi_file_tensor *)(const void *)(k->c->file + k->c->graph->tensors) + number;
}

static int32_t element(const contract *k, uint32_t number)
{
    const uint8_t *const at = k->array + number * k->size;
    int16_t half;
    int32_t word;
    if (k->size == 1u) {
        return *(const int8_t *)at;
    }
    if (k->size == 2u) {
        memcpy(&half, at, sizeof half);
        return half;
    }
    memcpy(&word, at, sizeof word);
    return word;
}

/* The bytes at each pointer to an input. */
static uint32_t room_of(const contract *k, uint32_t number)
{
    const kibi_file_read *const read = (const kibi_file_read *)(const void *)(k->c->file + k->node->reads) + number;
    return tensor_of(k, read->tensor)->row_bytes / kibi_window_of(k->c, k->node, read).parts;
}

/* Whether the next input has so many pointers, each to so many elements of a size. */
static int input(contract *k, int64_t pointers, int64_t elements, uint32_t kind)
{
    const uint32_t number = k->reads++, size = kind & 63u;
    if (number >= k->node->read_count) {
        return 0;
    }
    const kibi_file_read *const read = (const kibi_file_read *)(const void *)(k->c->file + k->node->reads) + number;
    const kibi_file_window window = kibi_window_of(k->c, k->node, read);
    const uint32_t room = room_of(k, number);
    return window.count == pointers && elements >= 0 && elements * size <= room && room % size == 0 &&
           kibi_is_aligned(k->c, tensor_of(k, read->tensor), size) && window.filler % size == 0 &&
           (KIBI_CORE_REACHES && (kind & 64u) != 0 ? kibi_always_reaches(k->node, &window)
                              : kind >= 128u || !kibi_may_be_null(k->node, &window));
}

/* Whether so many elements of a size fit where the next output, or the next state, begins. */
static int written(contract *k, int64_t elements, uint32_t size, int is_state)
{
    const uint32_t number = is_state ? k->node->output_count + k->states++ : k->outputs++;
    if (is_state ? k->states > k->node->state_count : k->outputs > k->node->output_count) {
        return 0;
    }
    const kibi_file_write *const write = (const kibi_file_write *)(const void *)(k->c->file + k->node->writes) + number;
    const kibi_file_tensor *const tensor = tensor_of(k, write->tensor);
    uint32_t rows = write->rows;
    if (is_state || (k->node->flags & KIBI_KIND_ACCUMULATES) != 0) {
        rows = kibi_together(k->c, tensor, 0, tensor->rows);
    }
    return elements >= 0 && elements * size <= (int64_t)rows * tensor->row_bytes && kibi_is_aligned(k->c, tensor, size);
}

/* Whether the inputs have the pointers and bytes that the rows of a table say. */
static int inputs_of_table(contract *k, int32_t count, int32_t times, uint32_t kind)
{
    if (count < 0 || (uint32_t)count > k->count / 2u) {
        return 0;
    }
    for (uint32_t row = 0; row < (uint32_t)count; ++row) {
        if (!input(k, element(k, 2u * row), (int64_t)element(k, 2u * row + 1u) * times, kind | 1u)) {
            return 0;
        }
    }
    return 1;
}

/* The most bytes that the pointers of the first inputs give in a step: those that are not null. */
static int64_t most_given(const contract *k, int32_t inputs, int32_t times)
{
    const kibi_file_read *const reads = (const kibi_file_read *)(const void *)(k->c->file + k->node->reads);
    int64_t most = 0;
    for (uint32_t step = 0; step < k->node->steps; ++step) {
        int64_t bytes = 0;
        for (uint32_t input = 0; input < (uint32_t)inputs && input < k->node->read_count; ++input) {
            const kibi_file_window window = kibi_window_of(k->c, k->node, &reads[input]);
            for (uint32_t number = 0; number < window.count; ++number) {
                const int64_t row = window.start + (int64_t)window.stride * (step % window.steps) +
                                    (int64_t)window.dilation * number;
                if (window.filler != 0 || (row >= 0 && row < (int64_t)window.rows)) {
                    bytes += (int64_t)element(k, 2u * input + 1u) * times;
                }
            }
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

static int outputs_of_table(contract *k, int32_t first)
{
    while (k->outputs < k->node->output_count) {
        const uint32_t place = (uint32_t)first + k->outputs;
        if (first < 0 || place >= k->count || !written(k, element(k, place), 1u, 0)) {
            return 0;
        }
    }
    return 1;
}

/* The scratch of so many bytes, or less, at an alignment. */
static int scratch(const contract *k, int32_t bytes, uint32_t alignment)
{
    return bytes <= 0 || (k->node->scratch != KIBI_NOTHING && (uint32_t)bytes <= k->node->scratch_bytes &&
                          k->node->scratch % alignment == 0 && k->c->graph->alignment % alignment == 0);
}

/* Makes the array at a field the last one. Whether it is in the file; one of no elements may be null. */
static int array(contract *k, int32_t count, const uint8_t *operands)
{
    uint32_t offset;
    memcpy(&offset, k->params + operands[0], sizeof offset);
    k->size = operands[1];
    k->count = (uint32_t)count;
    k->array = k->c->file + offset;
    return count >= 0 && (count == 0 ? offset <= k->c->end
                                     : offset != 0 && k->c->header->alignment % (k->size < 4u ? 4u : k->size) == 0 &&
                                           kibi_is_inside(k->c, offset, k->count, k->size, k->size));
}

static int in_range(const contract *k, int32_t low, int32_t high)
{
    for (uint32_t number = 0; number < k->count; ++number) {
        if (element(k, number) < low || element(k, number) > high) {
            return 0;
        }
    }
    return 1;
}

static int32_t extreme(const contract *k, uint32_t columns, uint32_t column, int is_most)
{
    int32_t found = k->count > column ? element(k, column) : 0;
    for (uint32_t number = column; number < k->count; number += columns) {
        const int32_t each = element(k, number);
        found = (is_most ? each > found : each < found) ? each : found;
    }
    return found;
}

/* How far nested loops reach, up or down: each row of the array has steps, and what its column adds with each of them. What a loop
 * adds in all its steps, and one more, fits in 30 bits. */
static int64_t reach(const contract *k, uint32_t columns, uint32_t column, int is_up)
{
    int64_t sum = 0;
    for (uint32_t row = 0; row + column < k->count; row += columns) {
        const int64_t steps = element(k, row), all = steps * element(k, row + column);
        const int64_t most = all - element(k, row + column);
        if (steps < 1 || all > 1 << 30 || all < -(1 << 30)) {
            return INT64_MIN;
        }
        sum += (most > 0) == is_up ? most : 0;
    }
    return sum;
}

static int64_t product(const contract *k, uint32_t columns, uint32_t column)
{
    int64_t found = 1;
    for (uint32_t number = column; number < k->count && found >= 0 && found <= INT32_MAX; number += columns) {
        found *= element(k, number);
    }
    return found;
}

/* Whether no element of an array is above its neighbour in another one. */
static int is_each(contract *k, int32_t count, const uint8_t *operands)
{
    const uint8_t both[2][2] = {{operands[0], operands[2]}, {operands[1], operands[2]}};
    for (int32_t number = 0; number < count; ++number) {
        int32_t value[2] = {0, 0};
        for (uint32_t which = 0; which < 2u; ++which) {
            if (!array(k, count, both[which])) {
                return 0;
            }
            value[which] = element(k, (uint32_t)number);
        }
        if (value[0] > value[1]) {
            return 0;
        }
    }
    return 1;
}

/* The most that an element of 16 bits and its neighbour in another array are together. */
static int64_t most_sum(contract *k, int32_t count, const uint8_t *operands)
{
    const uint8_t both[2][2] = {{operands[0], 2u}, {operands[1], 2u}};
    int64_t most = 0;
    for (int32_t number = 0; number < count; ++number) {
        int32_t sum = 0;
        for (uint32_t which = 0; which < 2u; ++which) {
            if (!array(k, count, both[which])) {
                return INT64_MIN;
            }
            sum += element(k, (uint32_t)number);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static int64_t computed(uint32_t operation, int32_t a, int32_t b)
{
    switch (operation) {
    case KIBI_OP_ADD:
        return (int64_t)a + b;
    case KIBI_OP_SUB:
        return (int64_t)a - b;
    case KIBI_OP_MUL:
        return (int64_t)a * b;
    case KIBI_OP_MAX:
        return a > b ? a : b;
    case KIBI_OP_MIN:
        return a < b ? a : b;
    default: /* division, down or up */
        return a < 0 || b < 1 ? INT64_MIN : a / b + (operation == KIBI_OP_CEIL && a % b != 0);
    }
}

int kibi_contract_holds(const kibi_checker *c, const kibi_file_node *node, const uint8_t *at)
{
    contract k = {c, node, c->file + node->params, 0, 0, 0, NULL, 0, 0};
    int32_t stack[DEPTH + 3] = {0};
    int32_t *top = stack + 3; /* three below the first, for operations that find too few */
    for (;;) {
        const uint32_t operation = *at++;
        int64_t pushed = 0;
        int is_right = 1, pushes = 0, popped = 0;
        switch (operation) {
        OPERATION(END)
            return k.reads == node->read_count && k.outputs == node->output_count && k.states == node->state_count;
        OPERATION(FIELD) {
            int32_t word;
            memcpy(&word, k.params + *at++, sizeof word);
            pushed = word;
            pushes = 1;
            break;
        }
        case KIBI_OP_NATURAL:
        case KIBI_OP_POSITIVE:
        case KIBI_OP_BETWEEN: {
            int32_t word;
            memcpy(&word, k.params + *at++, sizeof word);
            is_right = word >= (operation == KIBI_OP_POSITIVE ? 1 : 0);
            if (operation == KIBI_OP_BETWEEN) {
                is_right = word >= (int8_t)at[0] && word <= (int8_t)at[1];
                at += 2;
            }
            break;
        }
        OPERATION(HALF) {
            int16_t half;
            memcpy(&half, k.params + *at++, sizeof half);
            pushed = half;
            pushes = 1;
            break;
        }
        OPERATION(SMALL)
            pushed = (int8_t)*at++;
            pushes = 1;
            break;
        OPERATION(LARGE) {
            int32_t word;
            memcpy(&word, at, sizeof word);
            at += sizeof word;
            pushed = word;
            pushes = 1;
            break;
        }
        OPERATION(STEPS)
            pushed = node->steps;
            pushes = 1;
            break;
        OPERATION(READS)
            pushed = node->read_count;
            pushes = 1;
            break;
        OPERATION(POINTERS)
            pushed = (int32_t)node->rows - node->output_count - node->state_count;
            pushes = 1;
            break;
        OPERATION(ROOM) {
            const uint32_t number = *at++;
            is_right = number < node->read_count;
            pushed = is_right ? room_of(&k, number) : 0;
            pushes = 1;
            break;
        }
        OPERATION(TABLE_OUTPUT)
            popped = 2;
            is_right = written(&k, most_given(&k, top[-2], top[-1]), 1u, 0);
            break;
        OPERATION(BELOW) {
            const int64_t limit = (int64_t)1 << *at++;
            for (uint32_t number = 0; number < k.count && is_right; ++number) {
                int64_t each;
                memcpy(&each, k.array + 8u * number, sizeof each);
                is_right = each < limit && each > -limit;
            }
            break;
        }
        OPERATION(REST)
            k.reads = node->read_count;
            break;
        OPERATION(COUNT) {
            const kibi_file_read *const reads = (const kibi_file_read *)(const void *)(c->file + node->reads);
            const uint32_t number = *at++;
            is_right = number < node->read_count;
            pushed = is_right ? kibi_window_of(c, node, &reads[number]).count : 0;
            pushes = 1;
            break;
        }
        OPERATION(MOST_SUM)
            popped = 1;
            pushes = 1;
            pushed = most_sum(&k, top[-1], at);
            at += 2;
            break;
        OPERATION(POWER)
            popped = 1;
            pushes = 1;
            is_right = top[-1] >= 0 && top[-1] <= 30;
            pushed = is_right ? (int32_t)(1u << top[-1]) : 0;
            break;
        OPERATION(LE)
            popped = 2;
            is_right = top[-2] <= top[-1];
            break;
        OPERATION(INPUT)
            popped = 2;
            is_right = input(&k, top[-2], top[-1], *at++);
            break;
        OPERATION(INPUTS)
            popped = 3;
            for (int32_t left = top[-3]; left > 0 && is_right; --left) {
                is_right = input(&k, top[-2], top[-1], *at);
            }
            ++at;
            break;
        OPERATIONS(OUTPUT, STATE)
            popped = 1;
            is_right = written(&k, top[-1], *at++, operation == KIBI_OP_STATE);
            break;
        OPERATION(SCRATCH)
            popped = 1;
            is_right = scratch(&k, top[-1], *at++);
            break;
        OPERATIONS(ARRAY, SELECT)
            popped = 1;
            is_right = array(&k, top[-1], at);
            at += 2;
            break;
        OPERATION(RANGE)
            popped = 2;
            is_right = in_range(&k, top[-2], top[-1]);
            break;
        OPERATIONS(LEAST, MOST)
            pushed = extreme(&k, at[0], at[1], operation == KIBI_OP_MOST);
            at += 2;
            pushes = 1;
            break;
        OPERATIONS(HIGHEST, LOWEST)
            pushed = reach(&k, at[0], at[1], operation == KIBI_OP_HIGHEST);
            at += 2;
            pushes = 1;
            break;
        OPERATION(PRODUCT)
            pushed = product(&k, at[0], at[1]);
            at += 2;
            pushes = 1;
            break;
        OPERATION(ALIGNED) {
            popped = 2;
            const kibi_file_read *const reads = (const kibi_file_read *)(const void *)(c->file + node->reads);
            is_right = top[-2] >= 0 && top[-2] < node->read_count && top[-1] > 0 &&
                       kibi_is_aligned(c, tensor_of(&k, reads[top[-2]].tensor), (uint32_t)top[-1]);
            break;
        }
        OPERATION(EACH)
            popped = 1;
            is_right = is_each(&k, top[-1], at);
            at += 3;
            break;
        OPERATION(TABLE_INPUTS)
            popped = 2;
            is_right = inputs_of_table(&k, top[-2], top[-1], *at++);
            break;
        OPERATION(TABLE_OUTPUTS)
            popped = 1;
            is_right = outputs_of_table(&k, top[-1]);
            break;
        default:
            popped = 2;
            pushes = 1;
            pushed = computed(operation, top[-2], top[-1]);
            break;
        }
        if (!is_right || pushed > INT32_MAX || pushed < INT32_MIN) {
            return 0;
        }
        top -= popped;
        if (pushes) {
            *top++ = (int32_t)pushed;
        }
    }
}
