/* Evaluates the contract of a kernel for a node: operations on a stack, made by kibi.kernels.params.contract. A contract is part of
 * the core: its operands are trusted, the numbers that it computes are not. */
#include "kibi_check.h"
#include "kibi_features.h"

/* At -Os, Clang would make the code larger, so that it is faster. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

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
    const kibi_file_group *group; /* the next one */
    uint32_t left;                /* how many inputs, states and outputs are to come: in its upper three bytes */
    const uint8_t *array;         /* the last one, */
    uint32_t count, size;         /* its elements, and the bytes of one */
    uint32_t pointers;            /* of the groups that are to come */
} contract;

static KIBI_NOINLINE int32_t element_of(const uint8_t *array, uint32_t size, uint32_t number)
{
    const uint8_t *const at = array + number * size;
    return size == 1u   ? *(const int8_t *)at
           : size == 2u ? *(const int16_t *)(const void *)at
                        : *(const int32_t *)(const void *)at;
}

static int32_t element(const contract *k, uint32_t number)
{
    return element_of(k->array, k->size, number);
}

/* All groups of the node. */
static const kibi_file_group *groups_of(const contract *k)
{
    return (const kibi_file_group *)(const void *)(k->c->file + k->node->groups);
}

/* Whether the next group has so many elements at each of so many pointers, and is what its kind says. Inputs come first in a
 * contract, and outputs last: where all of each have been named in the end, each was the group that it was taken for. */
static int suits(contract *k, int32_t elements, int32_t pointers, uint32_t kind)
{
    const kibi_file_group *const group = k->group++;
    const uint32_t exponent = kind & 3u, role = kind & 24u;
    /* As a number without sign, a negative one is above all others. */
    if ((k->left >> role & 255u) == 0 || group->count != pointers ||
        (uint32_t)elements > (group->bytes & INT32_MAX) >> exponent || (group->alignment & ((1u << exponent) - 1u)) != 0 ||
        (KIBI_CORE_NULLS && (group->flags & KIBI_BYTES_NULLABLE) != 0 && (kind & 4u) == 0 &&
         ((kind & 32u) == 0 || (group->flags & KIBI_BYTES_REACHES) == 0))) {
        return 0;
    }
    k->left -= 1u << role;
    k->pointers -= group->count;
    return 1;
}

/* Whether the inputs have the pointers and bytes that the rows of a table say. */
static int inputs_of_table(contract *k, int32_t count, int32_t times, uint32_t kind)
{
    if (count < 0 || (uint32_t)count > k->count / 2u) {
        return 0;
    }
    for (uint32_t row = 0; row < (uint32_t)count; ++row) {
        const int64_t bytes = (int64_t)element(k, 2u * row + 1u) * times;
        if (bytes > INT32_MAX || bytes < 0 || !suits(k, (int32_t)bytes, element(k, 2u * row), kind)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the outputs have the bytes that a table says from a place on, to its end: so many outputs. */
static int outputs_of_table(contract *k, uint32_t first)
{
    for (uint32_t place = first; place < k->count; ++place) {
        if (!suits(k, element(k, place), 1, 24u)) {
            return 0;
        }
    }
    return 1;
}

/* Makes the array of an operand the last one: a parameter says how far it is from all of them. Whether it is in the file. */
static int array(contract *k, int32_t count, uint32_t operand)
{
    const uint32_t params = k->node->params;
    const uint32_t offset = params + ((const uint32_t *)(const void *)(k->c->file + params))[operand & 31u];
    k->size = 1u << (operand >> 6);
    k->count = (uint32_t)count;
    k->array = k->c->file + offset;
#if KIBI_CORE_WEIGHTS
    if (offset < k->c->weights_end && (operand & KIBI_ANY_ELEMENTS) == 0) { /* they must stay what they are */
        return 0;
    }
#endif
    return count >= 0 && kibi_is_inside(k->c, offset, k->count, k->size) &&
           (!KIBI_CORE_LONGS || k->size < 8u || ((offset | kibi_head(k->c)->alignment) & 7u) == 0);
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
    for (int32_t number = 0; number < count; ++number) {
        int32_t value[2] = {0, 0};
        for (uint32_t which = 0; which < 2u; ++which) {
            if (!array(k, count, operands[which])) {
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
    int64_t most = 0;
    for (int32_t number = 0; number < count; ++number) {
        int32_t sum = 0;
        for (uint32_t which = 0; which < 2u; ++which) {
            if (!array(k, count, operands[which])) {
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

/* Whether elements of the last array are in a range: all, or bit k of a mask says whether element k must be. */
static int are_between(const contract *k, uint32_t mask, int32_t most, int32_t least)
{
    for (uint32_t number = 0; number < k->count; ++number) {
        if ((mask >> (number & 31u) & 1u) != 0 && (element(k, number) > most || element(k, number) < least)) {
            return 0;
        }
    }
    return 1;
}

static uint32_t number_at(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int kibi_contract_holds(const kibi_checker *c, const kibi_file_node *node, const uint8_t *at)
{
    const uint8_t *const fields = c->file + node->params;
    const uint32_t field_bytes = *at++;
    contract k = {c, node, (const kibi_file_group *)(const void *)(c->file + node->groups), 0, NULL, 0, 0, node->pointers};
    int32_t stack[1 + KIBI_CONTRACT_DEPTH]; /* one below the first, for operations that find too few */
    int32_t *top = stack + 1;
    int64_t wide;
    int32_t found = node->steps; /* what is pushed */
    stack[0] = 0;
    k.left = node->flags | (uint32_t)node->read_count << 8 | (uint32_t)node->state_count << 16 |
             (uint32_t)node->output_count << 24;
    for (;;) {
        *top++ = found;
        const uint32_t operation = *at++;
        switch (operation >> 6) {
        case KIBI_OP_FIELD >> 6:
            found = element_of(fields, field_bytes, operation & 31u);
            /* Or one less: such a contract checks that the field is not the least number of all. */
            found = (int32_t)((uint32_t)found - (operation >> 5 & 1u));
            continue;
        case KIBI_OP_NUMBER >> 6:
            found = (int32_t)operation - (int32_t)KIBI_OP_NUMBER - 32;
            continue;
        case KIBI_OP_MASK >> 6: /* 2**k - 1, or -2**k */
            found = (int32_t)((1u << (operation & 31u)) - 1u) ^ -(int32_t)(operation >> 5 & 1u);
            continue;
        default:
            break;
        }
        if (operation >= KIBI_OP_GET) {
            found = stack[operation - KIBI_OP_GET + 1u];
            continue;
        }
        uint32_t mask = UINT32_MAX;
        /* An operation takes two numbers and pushes one: those that need another number of them move the top. */
        const int32_t a = top[-2], b = top[-1];
        top -= 2;
        found = a; /* what checks leave */
        switch (operation) {
        OPERATION(END)
            return k.left <= UINT8_MAX && k.pointers == 0;
        OPERATION(LE)
            if (a > b) {
                return 0;
            }
            found = b;
            continue;
        OPERATION(GROUP)
            if (!suits(&k, a, b, *at++)) {
                return 0;
            }
            continue;
        OPERATION(SCRATCH)
            if (b > (int32_t)node->scratch_bytes || ((node->scratch | c->graph->alignment) & *at) != 0) {
                return 0;
            }
            ++at;
            continue;
        OPERATION(ARRAY)
            if (!array(&k, b, *at++)) {
                return 0;
            }
            ++top;
            found = b;
            continue;
        case KIBI_OP_FIELDS:
        case KIBI_OP_RANGE:
            if (KIBI_USES_FIELDS && operation == KIBI_OP_FIELDS) {
                k.array = fields;
                k.size = field_bytes;
                k.count = 32u;
                mask = number_at(at);
                at += 4;
            }
            if ((!KIBI_USES_FIELDS && !KIBI_USES_RANGE) || !are_between(&k, mask, a, b)) {
                return 0;
            }
            continue;
        OPERATION(MAX)
            found = a > b ? a : b;
            continue;
        OPERATION(MIN)
            found = a < b ? a : b;
            continue;
        OPERATION(ADD)
            wide = (int64_t)a + b;
            break;
        OPERATION(SUB)
            wide = (int64_t)a - b;
            break;
        OPERATION(MUL)
            wide = (int64_t)a * b;
            break;
        case KIBI_OP_DIV:
        case KIBI_OP_CEIL:
        case KIBI_OP_MOD: {
            if ((!KIBI_USES_DIV && !KIBI_USES_CEIL && !KIBI_USES_MOD) || (a | (b - 1)) < 0) {
                return 0;
            }
            const uint32_t up = KIBI_USES_CEIL && operation == KIBI_OP_CEIL ? (uint32_t)b - 1u : 0u;
            found = (int32_t)(((uint32_t)a + up) / (uint32_t)b);
            if (KIBI_USES_MOD && operation == KIBI_OP_MOD) {
                found = a - found * b;
            }
            continue;
        }
        OPERATION(POWER)
            if (b < 0 || b > 30) {
                return 0;
            }
            ++top;
            found = (int32_t)(1u << b);
            continue;
        OPERATION(REST)
            ++top;
            found = b;
            k.left &= ~(255u << 8);
            for (const kibi_file_group *const end = groups_of(&k) + node->read_count; k.group < end; ++k.group) {
                k.pointers -= k.group->count;
            }
            continue;
        OPERATION(GROUPS)
            for (int32_t left = top[-1]; left > 0; --left) {
                if (!suits(&k, a, b, *at)) {
                    return 0;
                }
            }
            ++at;
            continue;
        OPERATION(BELOW)
            ++top;
            found = b;
            if (!are_below(&k, *at++)) {
                return 0;
            }
            continue;
        OPERATION(ALIGNED)
            if (a < 0 || a >= node->read_count || ((uint32_t)groups_of(&k)[a].alignment & ((uint32_t)b - 1u)) != 0) {
                return 0;
            }
            continue;
        OPERATION(EACH)
            if (!is_each(&k, b, at)) {
                return 0;
            }
            at += 2;
            continue;
        OPERATION(TABLE_INPUTS)
            if (!inputs_of_table(&k, a, b, *at++)) {
                return 0;
            }
            continue;
        OPERATION(TABLE_OUTPUT) /* steps are checked for it, one by one */
            ++top;
            found = b;
            if (k.left >> 24 != 1u || k.group->count != 1u) {
                return 0;
            }
            k.left -= 1u << 24;
            k.pointers -= 1u;
            continue;
        OPERATION(TABLE_OUTPUTS)
            if (!outputs_of_table(&k, (uint32_t)b)) {
                return 0;
            }
            continue;
        default:
            switch (operation) {
            OPERATION(LARGE)
                wide = (int32_t)number_at(at);
                at += 4;
                break;
            OPERATION(READS)
                wide = node->read_count;
                break;
            OPERATION(POINTERS)
                wide = node->rows;
                break;
            OPERATION(ROOM)
                wide = *at < node->read_count ? (int64_t)groups_of(&k)[*at].bytes : INT64_MIN;
                ++at;
                break;
            OPERATION(COUNT)
                wide = *at < node->read_count ? (int64_t)groups_of(&k)[*at].count : INT64_MIN;
                ++at;
                break;
            OPERATION(LEAST)
                wide = extreme(&k, *at >> 4, *at & 15u, 0);
                ++at;
                break;
            OPERATION(MOST)
                wide = extreme(&k, *at >> 4, *at & 15u, 1);
                ++at;
                break;
            OPERATION(HIGHEST)
                wide = reach(&k, *at >> 4, *at & 15u, 1);
                ++at;
                break;
            OPERATION(LOWEST)
                wide = reach(&k, *at >> 4, *at & 15u, 0);
                ++at;
                break;
            OPERATION(PRODUCT)
                wide = product(&k, *at >> 4, *at & 15u);
                ++at;
                break;
            OPERATION(MOST_SUM)
                wide = most_sum(&k, b, at);
                at += 2;
                --top;
                break;
            default:
                return 0;
            }
            top += 2;
            break;
        }
        found = (int32_t)wide;
        if (found != wide) {
            return 0;
        }
    }
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
