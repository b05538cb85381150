/* Evaluates the contract of a kernel for a node: operations on a stack, made by kibi.kernels.params.contract. */
#include "kibi_check.h"
#include "kibi_features.h"

#define DEPTH 12
#define NAMES 8u

/* An operation. No contract of this core has one that its kernels do not use: then the compiler drops what it does. */
#define OPERATION(name)                 \
    case KIBI_OP_##name:                \
        if (!KIBI_USES_##name) {        \
            return 0;                   \
        }

/* A contract that is evaluated. */
typedef struct {
    const kibi_checker *c;
    const kibi_file_node *node;
    const int32_t *words;          /* the node's parameters */
    const kibi_file_group *groups; /* all of them, */
    uint32_t next;                 /* and which is the next one */
    const uint8_t *array;          /* the last one, */
    uint32_t count, size;          /* its elements, and the bytes of one */
} contract;

static int32_t element(const contract *k, uint32_t number)
{
    const uint8_t *const at = k->array + number * k->size;
    return k->size == 1u   ? *(const int8_t *)at
           : k->size == 2u ? *(const int16_t *)(const void *)at
                           : *(const int32_t *)(const void *)at;
}

/* Whether the next group has so many pointers, with so many elements at each, and is what its kind says. */
static KIBI_NOINLINE int suits(contract *k, int32_t pointers, int64_t elements, uint32_t kind)
{
    const uint32_t number = k->next++, reads = k->node->read_count, inputs = reads + k->node->state_count;
    const kibi_file_group *const group = k->groups + number;
    const uint32_t alignment = (1u << (kind & 3u)) - 1u;
    return number < inputs + k->node->output_count && kind >> 4 == (number >= reads) + (uint32_t)(number >= inputs) &&
           group->count == pointers && elements >= 0 && elements << (kind & 3u) <= group->bytes &&
           (~(group->alignment - 1u) & alignment) == 0 &&
           (!KIBI_CORE_NULLS || (group->flags & KIBI_BYTES_NULLABLE) == 0 || (kind & 4u) != 0 ||
            ((kind & 8u) != 0 && (group->flags & KIBI_BYTES_REACHES) != 0));
}

/* Whether the inputs have the pointers and bytes that the rows of a table say. */
static int inputs_of_table(contract *k, int32_t count, int32_t times, uint32_t kind)
{
    if (count < 0 || (uint32_t)count > k->count / 2u) {
        return 0;
    }
    for (uint32_t row = 0; row < (uint32_t)count; ++row) {
        if (!suits(k, element(k, 2u * row), (int64_t)element(k, 2u * row + 1u) * times, kind)) {
            return 0;
        }
    }
    return 1;
}

static int outputs_of_table(contract *k, int32_t first)
{
    for (uint32_t number = 0; number < k->node->output_count; ++number) {
        const uint32_t place = (uint32_t)first + number;
        if (first < 0 || place >= k->count || !suits(k, 1, element(k, place), 32u)) {
            return 0;
        }
    }
    return 1;
}

/* Makes the array at a field, which says how far it is from the parameters, the last one. Whether it is in the file. */
static KIBI_NOINLINE int array(contract *k, int32_t count, const uint8_t *operands)
{
    const uint32_t offset = k->node->params + (uint32_t)k->words[operands[0]];
    k->size = operands[1];
    k->count = (uint32_t)count;
    k->array = k->c->file + offset;
    return count >= 0 && kibi_is_inside(k->c, offset, k->count, k->size) &&
           (k->size < 8u || ((offset | k->c->header->alignment) & 7u) == 0);
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

/* Whether the 64-bit elements of the last array are below a power of two in magnitude. */
static int are_below(const contract *k, uint32_t exponent)
{
    const int64_t limit = (int64_t)1 << exponent;
    for (uint32_t number = 0; number < k->count; ++number) {
        const int64_t each = ((const int64_t *)(const void *)k->array)[number];
        if (each >= limit || each <= -limit) {
            return 0;
        }
    }
    return 1;
}

/* Whether the parameters of a mask, bit k for word k, are in a range. */
static KIBI_NOINLINE int are_between(const contract *k, const uint8_t *mask, int32_t low, int32_t high)
{
    for (uint32_t word = 0; word < 32u; ++word) {
        if (((uint32_t)mask[word / 8u] >> word % 8u & 1u) != 0 && (k->words[word] < low || k->words[word] > high)) {
            return 0;
        }
    }
    return 1;
}

/* How many numbers an operation takes from the stack. */
static const uint8_t taken[] = {
    [KIBI_OP_ADD] = 2, [KIBI_OP_SUB] = 2, [KIBI_OP_MUL] = 2, [KIBI_OP_DIV] = 2, [KIBI_OP_CEIL] = 2, [KIBI_OP_MAX] = 2,
    [KIBI_OP_MIN] = 2, [KIBI_OP_LE] = 2, [KIBI_OP_GROUP] = 2, [KIBI_OP_GROUPS] = 3, [KIBI_OP_SCRATCH] = 1, [KIBI_OP_ARRAY] = 1,
    [KIBI_OP_RANGE] = 2, [KIBI_OP_TABLE_INPUTS] = 2, [KIBI_OP_TABLE_OUTPUTS] = 1, [KIBI_OP_ALIGNED] = 2, [KIBI_OP_EACH] = 1,
    [KIBI_OP_POWER] = 1, [KIBI_OP_MOST_SUM] = 1, [KIBI_OP_MULTIPLE] = 2, [KIBI_OP_LESS] = 1,
};

int kibi_contract_holds(const kibi_checker *c, const kibi_file_node *node, const uint8_t *at)
{
    contract k = {c, node, (const int32_t *)(const void *)(c->file + node->params),
                  (const kibi_file_group *)(const void *)(c->file + node->groups), 0, NULL, 0, 0};
    int32_t names[NAMES] = {0};
    int32_t stack[DEPTH + 3] = {0};
    int32_t *top = stack + 3; /* three below the first, for operations that find too few */
    for (;;) {
        const uint32_t operation = *at++;
        const int32_t a = top[-2], b = top[-1];
        int64_t found = 1; /* what is pushed, or whether all is right */
        if (operation >= KIBI_OP_SET) {
            if (KIBI_USES_HALF && operation >= KIBI_OP_HALF) {
                found = ((const int16_t *)(const void *)k.words)[operation - KIBI_OP_HALF];
            } else if (operation >= KIBI_OP_WORD) {
                found = k.words[operation - KIBI_OP_WORD];
            } else if (operation >= KIBI_OP_NUMBER) {
                found = (int32_t)(operation - KIBI_OP_NUMBER) - 8;
            } else if (operation >= KIBI_OP_GET) {
                found = names[operation & (NAMES - 1u)];
            } else {
                names[operation & (NAMES - 1u)] = b;
                continue;
            }
            *top++ = (int32_t)found;
            continue;
        }
        top -= operation < sizeof taken ? taken[operation] : 0;
        switch (operation) {
        OPERATION(SMALL)
            found = (int8_t)*at++;
            break;
        OPERATION(LARGE)
            found = (int32_t)(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
            at += 4;
            break;
        OPERATION(STEPS)
            found = node->steps;
            break;
        OPERATION(READS)
            found = node->read_count;
            break;
        OPERATION(POINTERS)
            found = node->rows;
            break;
        OPERATION(ROOM)
            found = *at < node->read_count ? (int64_t)k.groups[*at].bytes : INT64_MIN;
            ++at;
            break;
        OPERATION(COUNT)
            found = *at < node->read_count ? (int64_t)k.groups[*at].count : INT64_MIN;
            ++at;
            break;
        OPERATION(LEAST)
            found = extreme(&k, at[0], at[1], 0);
            at += 2;
            break;
        OPERATION(MOST)
            found = extreme(&k, at[0], at[1], 1);
            at += 2;
            break;
        OPERATION(HIGHEST)
            found = reach(&k, at[0], at[1], 1);
            at += 2;
            break;
        OPERATION(LOWEST)
            found = reach(&k, at[0], at[1], 0);
            at += 2;
            break;
        OPERATION(PRODUCT)
            found = product(&k, at[0], at[1]);
            at += 2;
            break;
        OPERATION(POWER)
            found = b >= 0 && b <= 30 ? (int32_t)(1u << b) : INT64_MIN;
            break;
        OPERATION(MOST_SUM)
            found = most_sum(&k, b, at);
            at += 2;
            break;
        OPERATION(ADD)
            found = (int64_t)a + b;
            break;
        OPERATION(LESS)
            found = (int64_t)b - 1;
            break;
        OPERATION(SUB)
            found = (int64_t)a - b;
            break;
        OPERATION(MUL)
            found = (int64_t)a * b;
            break;
        OPERATION(MAX)
            found = a > b ? a : b;
            break;
        OPERATION(MIN)
            found = a < b ? a : b;
            break;
        OPERATION(DIV)
            found = a < 0 || b < 1 ? INT64_MIN : a / b;
            break;
        OPERATION(CEIL)
            found = a < 0 || b < 1 ? INT64_MIN : a / b + (a % b != 0);
            break;
        default:
            switch (operation) {
            OPERATION(END)
                return k.next == (uint32_t)node->read_count + node->state_count + node->output_count;
            OPERATION(LE)
                found = a <= b;
                break;
            OPERATION(MULTIPLE)
                found = a >= 0 && b >= 1 && a % b == 0;
                break;
            OPERATION(POSITIVE)
                found = are_between(&k, at, 1, INT32_MAX);
                at += 4;
                break;
            OPERATION(NATURAL)
                found = are_between(&k, at, 0, INT32_MAX);
                at += 4;
                break;
            OPERATION(BOUNDED)
                found = are_between(&k, at, -(1 << 30), 1 << 30);
                at += 4;
                break;
            OPERATION(BETWEEN)
                found = k.words[at[0]] >= (int8_t)at[1] && k.words[at[0]] <= (int8_t)at[2];
                at += 3;
                break;
            OPERATION(GROUP)
                found = suits(&k, a, b, *at++);
                break;
            OPERATION(GROUPS)
                for (int32_t left = top[0]; left > 0 && found != 0; --left) {
                    found = suits(&k, a, b, *at);
                }
                ++at;
                break;
            OPERATION(REST)
                k.next = node->read_count;
                break;
            OPERATION(SCRATCH)
                found = b <= 0 ||
                        ((uint32_t)b <= node->scratch_bytes && ((node->scratch | c->graph->alignment) & (*at - 1u)) == 0);
                ++at;
                break;
            OPERATION(ARRAY)
                found = array(&k, b, at);
                at += 2;
                break;
            OPERATION(RANGE)
                found = in_range(&k, a, b);
                break;
            OPERATION(WHOLE)
                found = in_range(&k, 0, INT32_MAX);
                break;
            OPERATION(BELOW)
                found = are_below(&k, *at++);
                break;
            OPERATION(ALIGNED)
                found = a >= 0 && a < node->read_count && (~(k.groups[a].alignment - 1u) & ((uint32_t)b - 1u)) == 0;
                break;
            OPERATION(EACH)
                found = is_each(&k, b, at);
                at += 3;
                break;
            OPERATION(TABLE_INPUTS)
                found = inputs_of_table(&k, a, b, *at++);
                break;
            OPERATION(TABLE_OUTPUT) /* steps are checked for it, one by one */
                found = node->output_count == 1u;
                k.next += 1u;
                break;
            OPERATION(TABLE_OUTPUTS)
                found = outputs_of_table(&k, b);
                break;
            default:
                return 0;
            }
            if (found == 0) {
                return 0;
            }
            continue;
        }
        if (found > INT32_MAX || found < INT32_MIN) {
            return 0;
        }
        *top++ = (int32_t)found;
    }
}
