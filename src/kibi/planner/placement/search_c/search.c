#include "search.h"

#include <string.h>

typedef enum { SOLVED, FAILED, STOPPED } outcome;

static outcome solve(kibi_search_state *state, int32_t begin, int32_t end);

/* Count work; 0 if the search must end. */
static int may_go_on(kibi_search_state *state, uint64_t work)
{
    state->work += work;
    if (state->work > state->next_question) {
        state->next_question = state->work + ((uint64_t)1 << 22);
        if (state->go_on && !state->go_on()) {
            state->limit = 0;
        }
    }
    return state->work <= state->limit;
}

/* Put an open item at its bound, take it out of the part, and raise what overlaps it; 0 if something cannot be raised.
 *
 * The item becomes order[end - 1]; the rest keeps its order.
 */
static int place(kibi_search_state *state, int32_t begin, int32_t end, int32_t item)
{
    const kibi_problem *p = state->problem;
    int32_t at = begin;
    while (state->order[at] != item) {
        at++;
    }
    memmove(state->order + at, state->order + at + 1, (size_t)(end - 1 - at) * sizeof *state->order);
    state->order[end - 1] = item;
    state->is_open[item] = 0;
    state->offset[item] = state->bound[item];
    const int64_t top = state->bound[item] + p->size[item];
    for (int32_t k = end - 2; k >= begin; k--) {
        const int32_t other = state->order[k];
        if (state->bound[other] >= top) {
            break; /* no distance exceeds the size, and bounds only rise from here */
        }
        if (state->first[other] < state->last[item] && state->last[other] > state->first[item] &&
            kibi_overlap(p, item, other) &&
            !kibi_raise(state, other, state->bound[item] + kibi_distance(p, item, other))) {
            return 0;
        }
    }
    return 1;
}

/* Items that differ in nothing are not at their bound either, if the first of them is not. */
static int are_twins(const kibi_search_state *state, int32_t one, int32_t other)
{
    const kibi_problem *p = state->problem;
    return state->is_plain[one] && state->is_plain[other] && state->bound[one] == state->bound[other] &&
           state->first[one] == state->first[other] && state->last[one] == state->last[other] &&
           p->size[one] == p->size[other] && p->alignment[one] == p->alignment[other] &&
           state->highest[one] == state->highest[other];
}

/* Raise the bound of an item that is not at its bound; 0 if it cannot be. */
static int lift(kibi_search_state *state, int32_t begin, int32_t end, int32_t item)
{
    const int64_t next = kibi_next_bound(state, begin, end, item);
    if (next > state->highest[item] || next <= state->bound[item]) {
        return 0; /* the latter only where an item that is not settled had to be taken: the search is incomplete */
    }
    for (int32_t k = begin; k < end; k++) {
        const int32_t other = state->order[k];
        if (other != item && are_twins(state, item, other) && !kibi_raise(state, other, next)) {
            return 0;
        }
    }
    return kibi_raise(state, item, next);
}

/* Sort the part's items by the independent parts that they belong to, and list where those begin and end.
 *
 * Returns the list inside the stack of parts: `count` pairs, parts with few items first, since they fail soonest.
 */
static int32_t *split(kibi_search_state *state, int32_t begin, int32_t end, const kibi_extent *extent)
{
    int32_t *parts = state->parts + state->parts_count;
    int32_t from = begin;
    int32_t count = 0;
    for (int32_t s = extent->first + 1; s <= extent->last; s++) {
        if (s < extent->last && state->crossing[s] != 0) {
            continue;
        }
        int32_t to = from;
        for (int32_t k = from; k < end; k++) {
            const int32_t item = state->order[k];
            if (state->last[item] <= s) {
                memmove(state->order + to + 1, state->order + to, (size_t)(k - to) * sizeof *state->order);
                state->order[to++] = item;
            }
        }
        if (to > from) {
            int32_t at = count++;
            while (at > 0 && parts[2 * at - 1] - parts[2 * at - 2] > to - from) {
                parts[2 * at] = parts[2 * at - 2];
                parts[2 * at + 1] = parts[2 * at - 1];
                at--;
            }
            parts[2 * at] = from;
            parts[2 * at + 1] = to;
            from = to;
        }
    }
    state->parts_count += 2 * count;
    return parts;
}

/* Solve independent parts one after the other. If one fails, so does the whole, whatever the others could still do. */
static outcome solve_parts(kibi_search_state *state, int32_t begin, int32_t end, const kibi_extent *extent)
{
    const int32_t parts_count = state->parts_count;
    const int32_t *part = split(state, begin, end, extent);
    const int32_t *parts_end = state->parts + state->parts_count;
    outcome result = SOLVED;
    for (; part < parts_end && result == SOLVED; part += 2) {
        result = solve(state, part[0], part[1]);
    }
    state->parts_count = parts_count;
    for (int32_t k = begin; k < end && result == FAILED; k++) {
        state->is_open[state->order[k]] = 1;
    }
    return result;
}

/* Solve a state without looking at what is known of it. Bounds may be left raised. */
static outcome decide(kibi_search_state *state, int32_t begin, int32_t end)
{
    for (;;) {
        kibi_extent extent;
        if (!kibi_bounds(state, begin, end, &extent)) {
            return FAILED;
        }
        if (!may_go_on(state, extent.visits)) {
            return STOPPED;
        }
        if (extent.parts > 1) {
            return solve_parts(state, begin, end, &extent);
        }
        const int32_t item = kibi_choose(state, begin, end, &extent);
        const size_t trail_count = state->trail_count;
        const outcome placed = place(state, begin, end, item) ? solve(state, begin, end - 1) : FAILED;
        if (placed != FAILED) {
            return placed;
        }
        kibi_undo(state, trail_count);
        state->is_open[item] = 1;
        if (!lift(state, begin, end, item)) {
            return FAILED;
        }
    }
}

/* Place the open items order[begin] to order[end - 1]. If that fails, all bounds are as they were. */
static outcome solve(kibi_search_state *state, int32_t begin, int32_t end)
{
    if (begin == end) {
        return SOLVED;
    }
    const kibi_digest digest = kibi_state_digest(state, begin, end);
    if (kibi_is_failed(state, digest)) {
        return FAILED;
    }
    const size_t trail_count = state->trail_count;
    const outcome result = decide(state, begin, end);
    if (result == FAILED) {
        kibi_undo(state, trail_count);
        kibi_set_failed(state, digest);
    }
    return result;
}

kibi_search_result kibi_search(const kibi_problem *problem, const kibi_strategy *strategy, int64_t capacity,
                               uint64_t limit, kibi_go_on go_on, int64_t *offsets, uint64_t *work)
{
    kibi_search_state state;
    memset(&state, 0, sizeof state);
    state.problem = problem;
    state.strategy = strategy;
    state.capacity = capacity;
    state.go_on = go_on;
    state.limit = limit;
    state.random = strategy->seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
    kibi_search_result result = KIBI_SEARCH_NO_MEMORY;
    if (kibi_state_make(&state)) {
        result = KIBI_SEARCH_IMPOSSIBLE;
        int fits = 1;
        for (int32_t i = 0; i < problem->items; i++) {
            fits = fits && state.bound[i] <= state.highest[i];
        }
        const outcome ended = fits ? solve(&state, 0, problem->items) : FAILED;
        if (ended == SOLVED) {
            memcpy(offsets, state.offset, (size_t)problem->items * sizeof *offsets);
            result = KIBI_SEARCH_FOUND;
        } else if (ended == STOPPED || state.limit != limit) {
            result = KIBI_SEARCH_STOPPED;
        } else if (state.is_incomplete) {
            result = KIBI_SEARCH_NOT_FOUND;
        }
    }
    if (work) {
        *work = state.work;
    }
    kibi_state_free(&state);
    return result;
}
