#include "first_fit.h"

#include <stdlib.h>
#include <string.h>

/* Offsets that an item may not have, because another one is in the way: those strictly between the two. */
typedef struct {
    int64_t low, high;
} range;

/* The items that were placed so far, in a binary tree over the sections.
 *
 * Node 1 is the root and covers all sections; node n has the children 2n for the sections before its middle, and 2n + 1 for
 * those after. An item belongs to the highest node whose middle its hull contains. So all items of a node live together, and
 * a node has at most as many as ever live at once.
 */
typedef struct {
    const kibi_problem *problem;
    int32_t *newest; /* [nodes]: an item of the node, -1 for none */
    int32_t *older;  /* [items]: the next item of the same node, -1 after the last */
    int32_t *count;  /* [nodes]: items of the node and of all below it */
    range *blocked;  /* [items]: room for what is in the way of one item */
    int32_t width;   /* sections that the root covers: a power of two */
} placed_items;

static int32_t first_of(const kibi_problem *problem, int32_t item)
{
    return problem->first[problem->piece_start[item]];
}

static int32_t last_of(const kibi_problem *problem, int32_t item)
{
    return problem->last[problem->piece_start[item + 1] - 1];
}

static int32_t pieces_of(const kibi_problem *problem, int32_t item)
{
    return problem->piece_start[item + 1] - problem->piece_start[item];
}

static int is_ruled(const kibi_problem *problem, int32_t item)
{
    return problem->rule_start[item] < problem->rule_start[item + 1];
}

/* Appends what the items of one node forbid to an item, and returns how many ranges there are then. */
static int32_t of_node(const placed_items *placed, int32_t node, int32_t own, const int64_t *offsets, int32_t found)
{
    const kibi_problem *const problem = placed->problem;
    const int32_t first = first_of(problem, own), last = last_of(problem, own);
    const int ruled = is_ruled(problem, own);
    for (int32_t other = placed->newest[node]; other >= 0; other = placed->older[other]) {
        if (last_of(problem, other) <= first || first_of(problem, other) >= last ||
            ((pieces_of(problem, own) > 1 || pieces_of(problem, other) > 1) && !kibi_overlap(problem, own, other))) {
            continue;
        }
        const int64_t below = ruled ? kibi_distance(problem, own, other) : problem->size[own];
        const int64_t above = ruled ? kibi_distance(problem, other, own) : problem->size[other];
        const range way = {offsets[other] - below, offsets[other] + above};
        placed->blocked[found++] = way;
    }
    return found;
}

/* Lists what is in the way of an item, in any order; returns how many ranges that are.
 *
 * A node is visited only if its sections and the item's have some in common, so the walk is as deep as the tree at both ends
 * of the item's life, and elsewhere has one visit for each node with items that overlap it.
 */
static int32_t in_the_way(const placed_items *placed, int32_t own, const int64_t *offsets)
{
    const int32_t first = first_of(placed->problem, own), last = last_of(placed->problem, own);
    struct {
        int32_t node, low, width;
    } left[64];
    int32_t depth = 0, found = 0;
    left[depth].node = 1, left[depth].low = 0, left[depth++].width = placed->width;
    while (depth) {
        const int32_t node = left[--depth].node, low = left[depth].low, half = left[depth].width / 2;
        if (!placed->count[node]) {
            continue;
        }
        found = of_node(placed, node, own, offsets, found);
        const int32_t middle = low + half;
        if (half && last > middle + 1) {
            left[depth].node = 2 * node + 1, left[depth].low = middle, left[depth++].width = half;
        }
        if (half && first < middle) {
            left[depth].node = 2 * node, left[depth].low = low, left[depth++].width = half;
        }
    }
    return found;
}

static int by_low(const void *one, const void *other)
{
    const int64_t a = ((const range *)one)->low, b = ((const range *)other)->low;
    return (a > b) - (a < b);
}

/* The lowest free offset of an item: ranges come in ascending order, so that what was passed is never in the way again. */
static int64_t fit(const placed_items *placed, int32_t own, const int64_t *offsets)
{
    const kibi_problem *const problem = placed->problem;
    const int32_t found = in_the_way(placed, own, offsets);
    if (found > 1) {
        qsort(placed->blocked, (size_t)found, sizeof *placed->blocked, by_low);
    }
    int64_t offset = problem->lowest[own];
    for (int32_t k = 0; k < found && placed->blocked[k].low < offset; k++) {
        if (offset < placed->blocked[k].high) {
            offset = kibi_aligned(placed->blocked[k].high, problem->alignment[own]);
        }
    }
    return offset;
}

static void insert(placed_items *placed, int32_t own)
{
    const int32_t first = first_of(placed->problem, own), last = last_of(placed->problem, own);
    int32_t node = 1, low = 0, half = placed->width / 2;
    placed->count[node]++;
    for (int32_t middle = low + half; half && (last <= middle || first > middle); middle = low + half) {
        const int32_t is_after = first > middle;
        node = 2 * node + is_after;
        low = is_after ? middle : low;
        half /= 2;
        placed->count[node]++;
    }
    placed->older[own] = placed->newest[node];
    placed->newest[node] = own;
}

static int64_t place_all(const int32_t *order, placed_items *placed, int64_t *offsets)
{
    const kibi_problem *const problem = placed->problem;
    int64_t peak = 0;
    for (int32_t k = 0; k < problem->items; k++) {
        const int32_t item = order[k];
        const int64_t offset = fit(placed, item, offsets);
        if (offset > problem->highest[item]) {
            return -2;
        }
        offsets[item] = offset;
        insert(placed, item);
        const int64_t top = offset + problem->size[item];
        peak = top > peak ? top : peak;
    }
    return peak;
}

int64_t kibi_first_fit_sparse(const kibi_problem *problem, const int32_t *order, int64_t *offsets)
{
    int32_t width = 1;
    while (width < problem->sections) {
        width *= 2;
    }
    const size_t nodes = 2 * (size_t)width, items = (size_t)problem->items;
    int32_t *const numbers = malloc((2 * nodes + items) * sizeof *numbers);
    range *const blocked = malloc((items + 1) * sizeof *blocked);
    int64_t peak = -1;
    if (numbers && blocked) {
        memset(numbers, 0xff, nodes * sizeof *numbers);
        memset(numbers + nodes, 0, nodes * sizeof *numbers);
        placed_items placed = {problem, numbers, numbers + 2 * nodes, numbers + nodes, blocked, width};
        peak = place_all(order, &placed, offsets);
    }
    free(blocked);
    free(numbers);
    return peak;
}
