#include "first_fit.h"

#include <stdlib.h>
#include <string.h>

/* So many items that live together with one are quickly sorted for each item. */
#define FEW_NEIGHBOURS 1000

/* An item with the hull of its life, which is all that most of them need. */
typedef struct {
    int64_t size;
    int32_t item, first, last;
    int32_t pieces;
} placed_item;

/* The items that were placed at one offset: mostly many, one after another in time. */
typedef struct {
    placed_item *items; /* ascending by first section */
    int64_t bottom;
    int32_t count, room;
    int32_t longest; /* sections of the longest hull */
} level;

/* All that was placed so far, ascending by offset. */
typedef struct {
    level *levels;
    int32_t count, room;
} placed_levels;

static placed_item hull_of(const kibi_problem *problem, int32_t item)
{
    const int32_t begin = problem->piece_start[item];
    const int32_t end = problem->piece_start[item + 1];
    const placed_item hull = {problem->size[item], item, problem->first[begin], problem->last[end - 1], end - begin};
    return hull;
}

/* The first item of a level that begins at a section or later. */
static int32_t item_from(const level *here, int32_t section)
{
    int32_t low = 0;
    int32_t high = here->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (here->items[middle].first < section) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first level at an offset or above. */
static int32_t level_from(const placed_levels *placed, int64_t offset)
{
    int32_t low = 0;
    int32_t high = placed->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (placed->levels[middle].bottom < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int has_rules(const kibi_problem *problem, int32_t item)
{
    return problem->rule_start[item] < problem->rule_start[item + 1];
}

/* The lowest offset from `offset` on where no item of a level is in the way; the level is below the item's end. */
static int64_t lift(const kibi_problem *problem, const level *here, const placed_item *own, int64_t offset)
{
    const int ruled = has_rules(problem, own->item);
    for (int32_t k = item_from(here, own->first - here->longest); k < here->count; k++) {
        const placed_item *const other = &here->items[k];
        if (other->first >= own->last) {
            break;
        }
        if (other->last <= own->first || (!ruled && here->bottom + other->size <= offset) ||
            ((own->pieces > 1 || other->pieces > 1) && !kibi_overlap(problem, own->item, other->item))) {
            continue;
        }
        const int64_t above = here->bottom + (ruled ? kibi_distance(problem, other->item, own->item) : other->size);
        const int64_t below = here->bottom - (ruled ? kibi_distance(problem, own->item, other->item) : own->size);
        if (offset > below && offset < above) {
            offset = kibi_aligned(above, problem->alignment[own->item]);
        }
    }
    return offset;
}

/* The lowest free offset from `offset` on: passes upwards until nothing is in the way. One is enough where no rule is the
 * item's: what others keep free of it then begins one size below them, so ever higher up.
 */
static int64_t fit(const kibi_problem *problem, const placed_levels *placed, const placed_item *own, int64_t offset)
{
    const int ruled = has_rules(problem, own->item);
    for (int again = 1; again;) {
        again = 0;
        for (int32_t k = 0; k < placed->count && placed->levels[k].bottom < offset + own->size; k++) {
            const int64_t lifted = lift(problem, &placed->levels[k], own, offset);
            again = again || (ruled && lifted > offset);
            offset = lifted;
        }
    }
    return offset;
}

/* An array with room for one element more than it has; null if the host has no memory left. */
static void *grown(void *array, int32_t *room, size_t element_bytes)
{
    const int32_t more = *room + *room / 2 + 4;
    void *const moved = realloc(array, (size_t)more * element_bytes);
    if (moved) {
        *room = more;
    }
    return moved;
}

/* The level at an offset, a new one if need be; null if the host has no memory left. */
static level *level_at(placed_levels *placed, int64_t offset)
{
    const int32_t at = level_from(placed, offset);
    if (at < placed->count && placed->levels[at].bottom == offset) {
        return &placed->levels[at];
    }
    if (placed->count == placed->room) {
        level *const moved = grown(placed->levels, &placed->room, sizeof *placed->levels);
        if (!moved) {
            return NULL;
        }
        placed->levels = moved;
    }
    memmove(placed->levels + at + 1, placed->levels + at, (size_t)(placed->count - at) * sizeof *placed->levels);
    memset(&placed->levels[at], 0, sizeof placed->levels[at]);
    placed->levels[at].bottom = offset;
    placed->count++;
    return &placed->levels[at];
}

static int insert(placed_levels *placed, const placed_item *own, int64_t offset)
{
    level *const here = level_at(placed, offset);
    if (!here) {
        return 0;
    }
    if (here->count == here->room) {
        placed_item *const moved = grown(here->items, &here->room, sizeof *here->items);
        if (!moved) {
            return 0;
        }
        here->items = moved;
    }
    const int32_t at = item_from(here, own->first);
    memmove(here->items + at + 1, here->items + at, (size_t)(here->count - at) * sizeof *here->items);
    here->items[at] = *own;
    here->count++;
    here->longest = own->last - own->first > here->longest ? own->last - own->first : here->longest;
    return 1;
}

static int64_t place_all(const kibi_problem *problem, const int32_t *order, placed_levels *placed, int64_t *offsets)
{
    int64_t peak = 0;
    for (int32_t k = 0; k < problem->items; k++) {
        const int32_t item = order[k];
        const placed_item own = hull_of(problem, item);
        const int64_t offset = fit(problem, placed, &own, problem->lowest[item]);
        if (offset > problem->highest[item]) {
            return -2;
        }
        offsets[item] = offset;
        if (!insert(placed, &own, offset)) {
            return -1;
        }
        const int64_t top = offset + problem->size[item];
        peak = top > peak ? top : peak;
    }
    return peak;
}

/* How many items live together with one, on average, by the hulls of their lives; -1 if the host has no memory left. */
static int64_t neighbours(const kibi_problem *problem)
{
    int32_t *const begun = calloc((size_t)problem->sections + 1, sizeof *begun);
    int32_t *const ended = calloc((size_t)problem->sections + 1, sizeof *ended);
    int64_t pairs = -1;
    if (begun && ended) {
        for (int32_t item = 0; item < problem->items; item++) {
            begun[problem->first[problem->piece_start[item]]]++;
            ended[problem->last[problem->piece_start[item + 1] - 1]]++;
        }
        int64_t living = 0;
        pairs = 0;
        for (int32_t section = 0; section <= problem->sections; section++) {
            living -= ended[section];
            pairs += begun[section] * (2 * living + begun[section] - 1);
            living += begun[section];
        }
    }
    free(begun);
    free(ended);
    return pairs < 0 ? -1 : pairs / (problem->items > 0 ? problem->items : 1);
}

/* Levels are good where many items overlap and few offsets differ. */
static int64_t first_fit_levels(const kibi_problem *problem, const int32_t *order, int64_t *offsets)
{
    placed_levels placed = {NULL, 0, 0};
    const int64_t peak = place_all(problem, order, &placed, offsets);
    for (int32_t k = 0; k < placed.count; k++) {
        free(placed.levels[k].items);
    }
    free(placed.levels);
    return peak;
}

int64_t kibi_first_fit(const kibi_problem *problem, const int32_t *order, int64_t *offsets)
{
    const int64_t near = neighbours(problem);
    if (near < 0) {
        return -1;
    }
    return near < FEW_NEIGHBOURS ? kibi_first_fit_sparse(problem, order, offsets) : first_fit_levels(problem, order, offsets);
}
