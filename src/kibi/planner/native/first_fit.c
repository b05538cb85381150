#include "placement.h"

#include <stdlib.h>
#include <string.h>

/* The items placed so far, ascending by offset; the hull of a life is all that most of them need. */
typedef struct {
    int32_t *first, *last, *item;
    int64_t *bottom, *top;
    int32_t count;
} placed_items;

static int64_t aligned(int64_t offset, int64_t alignment)
{
    const int64_t over = offset % alignment;
    return over ? offset + alignment - over : offset;
}

static int is_plain(const kibi_problem *problem, int32_t item)
{
    return problem->piece_start[item + 1] - problem->piece_start[item] == 1 &&
           problem->rule_start[item + 1] == problem->rule_start[item];
}

/* The lowest free offset from `offset` on, if only plain items are placed: one pass upwards. */
static int64_t fit_plain(const kibi_problem *problem, const placed_items *placed, int32_t item, int64_t offset)
{
    const int32_t first = problem->first[problem->piece_start[item]];
    const int32_t last = problem->last[problem->piece_start[item]];
    const int64_t size = problem->size[item];
    for (int32_t k = 0; k < placed->count; k++) {
        if (placed->first[k] < last && placed->last[k] > first) {
            if (placed->bottom[k] >= offset + size) {
                break;
            }
            if (placed->top[k] > offset) {
                offset = aligned(placed->top[k], problem->alignment[item]);
            }
        }
    }
    return offset;
}

/* The lowest free offset from `offset` on, with gaps and rules: passes until nothing is in the way. */
static int64_t fit(const kibi_problem *problem, const placed_items *placed, int32_t item, int64_t offset)
{
    const int64_t size = problem->size[item];
    for (int again = 1; again;) {
        again = 0;
        for (int32_t k = 0; k < placed->count && placed->bottom[k] < offset + size; k++) {
            const int32_t other = placed->item[k];
            if (!kibi_overlap(problem, item, other)) {
                continue;
            }
            const int64_t above = placed->bottom[k] + kibi_distance(problem, other, item);
            const int64_t below = placed->bottom[k] - kibi_distance(problem, item, other);
            if (offset > below && offset < above) {
                offset = aligned(above, problem->alignment[item]);
                again = 1;
            }
        }
    }
    return offset;
}

static void insert(const kibi_problem *problem, placed_items *placed, int32_t item, int64_t offset)
{
    int32_t low = 0;
    int32_t high = placed->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (placed->bottom[middle] < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const size_t behind = (size_t)(placed->count - low);
    memmove(placed->first + low + 1, placed->first + low, behind * sizeof *placed->first);
    memmove(placed->last + low + 1, placed->last + low, behind * sizeof *placed->last);
    memmove(placed->item + low + 1, placed->item + low, behind * sizeof *placed->item);
    memmove(placed->bottom + low + 1, placed->bottom + low, behind * sizeof *placed->bottom);
    memmove(placed->top + low + 1, placed->top + low, behind * sizeof *placed->top);
    placed->first[low] = problem->first[problem->piece_start[item]];
    placed->last[low] = problem->last[problem->piece_start[item + 1] - 1];
    placed->item[low] = item;
    placed->bottom[low] = offset;
    placed->top[low] = offset + problem->size[item];
    placed->count++;
}

static int64_t place_all(const kibi_problem *problem, const int32_t *order, placed_items *placed, int64_t *offsets)
{
    int64_t peak = 0;
    int all_plain = 1;
    for (int32_t k = 0; k < problem->items; k++) {
        const int32_t item = order[k];
        all_plain = all_plain && is_plain(problem, item);
        const int64_t lowest = problem->lowest[item];
        const int64_t offset =
            all_plain ? fit_plain(problem, placed, item, lowest) : fit(problem, placed, item, lowest);
        if (offset > problem->highest[item]) {
            return -2;
        }
        offsets[item] = offset;
        insert(problem, placed, item, offset);
        const int64_t top = offset + problem->size[item];
        peak = top > peak ? top : peak;
    }
    return peak;
}

int64_t kibi_first_fit(const kibi_problem *problem, const int32_t *order, int64_t *offsets)
{
    const size_t count = (size_t)problem->items + 1;
    placed_items placed = {
        malloc(count * sizeof(int32_t)), malloc(count * sizeof(int32_t)), malloc(count * sizeof(int32_t)),
        malloc(count * sizeof(int64_t)), malloc(count * sizeof(int64_t)), 0,
    };
    const int has_memory = placed.first && placed.last && placed.item && placed.bottom && placed.top;
    const int64_t peak = has_memory ? place_all(problem, order, &placed, offsets) : -1;
    free(placed.first);
    free(placed.last);
    free(placed.item);
    free(placed.bottom);
    free(placed.top);
    return peak;
}
