#include "search.h"

/* Insertion sort: between two states only a few items move. */
static void sort(kibi_search_state *state, int32_t begin, int32_t end)
{
    int32_t *order = state->order;
    for (int32_t k = begin + 1; k < end; k++) {
        const int32_t item = order[k];
        const int64_t bound = state->bound[item];
        int32_t to = k;
        while (to > begin && state->bound[order[to - 1]] < bound) {
            order[to] = order[to - 1];
            to--;
        }
        order[to] = item;
    }
}

static void clear(kibi_search_state *state, int32_t begin, int32_t end, kibi_extent *extent)
{
    extent->first = state->problem->sections;
    extent->last = 0;
    extent->visits = 0;
    for (int32_t k = begin; k < end; k++) {
        const int32_t item = state->order[k];
        extent->first = state->first[item] < extent->first ? state->first[item] : extent->first;
        extent->last = state->last[item] > extent->last ? state->last[item] : extent->last;
        extent->visits += (uint64_t)state->span[item];
    }
    for (int32_t s = extent->first; s < extent->last; s++) {
        state->open[s] = 0;
        state->height[s] = KIBI_NEVER;
        state->least_top[s] = KIBI_NEVER;
        state->candidates[s] = 0;
        state->settled[s] = 0;
        state->crossing[s] = 0;
    }
    state->crossing[extent->last] = 0;
}

/* Add up each section from its highest bound downwards; 0 if what must be above some bound has no room there. */
static int add_up(kibi_search_state *state, int32_t begin, int32_t end)
{
    const kibi_problem *p = state->problem;
    for (int32_t k = begin; k < end; k++) {
        const int32_t item = state->order[k];
        const int64_t bound = state->bound[item];
        const int64_t top = bound + p->size[item];
        const int64_t room = state->capacity - bound;
        for (int32_t piece = p->piece_start[item]; piece < p->piece_start[item + 1]; piece++) {
            const int64_t weight = p->weight[piece];
            for (int32_t s = p->first[piece]; s < p->last[piece]; s++) {
                state->open[s] += weight;
                state->height[s] = bound;
                state->least_top[s] = top < state->least_top[s] ? top : state->least_top[s];
                if (state->open[s] > room) {
                    state->conflicts[s] += 1;
                    return 0;
                }
            }
        }
        state->crossing[state->first[item] + 1]++;
        state->crossing[state->last[item]]--;
    }
    return 1;
}

/* True if no other open item fits below this one while it is at its bound. */
static int is_settled_at(const kibi_search_state *state, int32_t item)
{
    const kibi_problem *p = state->problem;
    const int64_t bound = state->bound[item];
    for (int32_t piece = p->piece_start[item]; piece < p->piece_start[item + 1]; piece++) {
        for (int32_t s = p->first[piece]; s < p->last[piece]; s++) {
            if (state->least_top[s] <= bound) {
                return 0; /* no distance exceeds the size */
            }
        }
    }
    for (int32_t rule = p->rule_start[item]; rule < p->rule_start[item + 1]; rule++) {
        const int32_t other = p->rule_above[rule];
        if (state->is_open[other] && state->bound[other] + state->rule_reverse[rule] <= bound) {
            return 0;
        }
    }
    return 1;
}

/* For each section, count the items that may be its lowest open one: above them there must be room for all the others. */
static void count_candidates(kibi_search_state *state, int32_t begin, int32_t end)
{
    const kibi_problem *p = state->problem;
    for (int32_t k = begin; k < end; k++) {
        const int32_t item = state->order[k];
        const int64_t room = state->capacity - state->bound[item];
        const int is_settled = is_settled_at(state, item);
        state->is_settled[item] = (unsigned char)is_settled;
        for (int32_t piece = p->piece_start[item]; piece < p->piece_start[item + 1]; piece++) {
            for (int32_t s = p->first[piece]; s < p->last[piece]; s++) {
                const int32_t may_be_lowest = state->open[s] <= room;
                state->candidates[s] += may_be_lowest;
                state->settled[s] += may_be_lowest & is_settled;
            }
        }
    }
}

/* Look at a state: the open items order[begin] to order[end - 1], at least one.
 *
 * Returns 0 if it has no solution. Else the items are sorted, the sections' fields are up to date, and `extent` tells where
 * they are.
 */
int kibi_bounds(kibi_search_state *state, int32_t begin, int32_t end, kibi_extent *extent)
{
    sort(state, begin, end);
    clear(state, begin, end, extent);
    if (!add_up(state, begin, end)) {
        return 0;
    }
    int32_t going_on = 0;
    extent->parts = 1;
    for (int32_t s = extent->first + 1; s < extent->last; s++) {
        going_on += state->crossing[s];
        extent->parts += going_on == 0;
        state->crossing[s] = going_on;
    }
    if (extent->parts == 1) {
        count_candidates(state, begin, end);
    }
    return 1;
}

/* True if `other` need not count among the items that `item` would have to rest on if it is not at its bound.
 *
 * Suppose that all that is below `item`, and above its bound, lives within its life. Then `item` can change places with
 * it: `item` goes down to its bound, and the rest up by its size. So there would be a placement with `item` at its bound.
 */
static int is_exchangeable(const kibi_search_state *state, int32_t item, int32_t other)
{
    return state->is_plain[item] && state->first[other] >= state->first[item] &&
           state->last[other] <= state->last[item] && state->bound[other] >= state->bound[item] &&
           state->highest[other] == state->capacity - state->problem->size[other] &&
           state->problem->size[item] % state->problem->alignment[other] == 0;
}

/* The bound of a settled item, given that it is not at its present bound; KIBI_NEVER if nothing could hold it up. */
int64_t kibi_next_bound(const kibi_search_state *state, int32_t begin, int32_t end, int32_t item)
{
    const kibi_problem *p = state->problem;
    int64_t next = KIBI_NEVER;
    for (int32_t k = end - 1; k >= begin; k--) {
        const int32_t other = state->order[k];
        if (state->first[other] >= state->last[item] || state->last[other] <= state->first[item] || other == item) {
            continue;
        }
        if (is_exchangeable(state, item, other) || !kibi_overlap(p, item, other)) {
            continue;
        }
        const int64_t bound = state->bound[other] + kibi_distance(p, other, item);
        next = bound < next ? bound : next;
    }
    return next;
}
