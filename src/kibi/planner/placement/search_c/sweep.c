#include "sweep.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mixed(uint64_t bits)
{
    bits ^= bits >> 32;
    bits *= 0xd6e8feb86659fd93u;
    bits ^= bits >> 32;
    bits *= 0xd6e8feb86659fd93u;
    return bits ^ bits >> 32;
}

static uint64_t digest_of(int32_t item, int64_t offset)
{
    return mixed((uint64_t)offset + ((uint64_t)item + 1) * 0x9e3779b97f4a7c15u);
}

/* What a hole with this lower edge costs: what is above dies in section `above`, what is below in section `below`. */
static int64_t edge(const kibi_sweep_state *state, int32_t below, int32_t above)
{
    return below > above ? state->cost[below] - state->cost[above] : 0;
}

/* The holes with lower edges between two neighbours, or between one and the end of the room: `below` and `above` are when
 * these die, `is_apart` is whether there is a hole now. */
static int64_t between(const kibi_sweep_state *state, int32_t below, int32_t above, int is_apart)
{
    return is_apart ? edge(state, below, state->now) + edge(state, state->now, above) : edge(state, below, above);
}

/* The items of a sketch, from the bottom to the top, and their offsets. */
static int32_t *items_of(const kibi_sketches *sketches, const kibi_sweep_state *state, int32_t sketch)
{
    return sketches->item + (size_t)sketch * (size_t)state->room;
}

static int64_t *offsets_of(const kibi_sketches *sketches, const kibi_sweep_state *state, int32_t sketch)
{
    return sketches->offset + (size_t)sketch * (size_t)state->room;
}

/* Take what has died out of a sketch, and see what holes there are and will be. */
static void retire(kibi_sweep_state *state, int32_t sketch)
{
    const kibi_problem *p = state->problem;
    int32_t *item = items_of(&state->sketches, state, sketch);
    int64_t *offset = offsets_of(&state->sketches, state, sketch);
    const int32_t count = state->sketches.count[sketch];
    int32_t kept = 0;
    int32_t below = p->sections;
    int64_t floor = 0;
    int64_t score = 0;
    for (int32_t k = 0; k < count; k++) {
        const int32_t i = item[k];
        if (state->last[i] <= state->now) {
            state->sketches.digest[sketch] -= digest_of(i, offset[k]);
            continue;
        }
        score += between(state, below, state->bottom_end[i], offset[k] > floor);
        score += edge(state, state->bottom_end[i], state->top_end[i]);
        below = state->top_end[i];
        floor = offset[k] + p->size[i];
        item[kept] = i;
        offset[kept++] = offset[k];
    }
    score += between(state, below, p->sections, floor < state->capacity);
    state->sketches.count[sketch] = kept;
    state->sketches.score[sketch] = score;
    state->work += (uint64_t)count;
}

/* A place for a digest in a table, whose length is mostly a power of two. */
static uint64_t place_of(uint64_t digest, uint64_t length)
{
    return (length & (length - 1)) == 0 ? digest & (length - 1) : digest % length;
}

/* Note that the item could be at an offset, directly above the first `place` items of a sketch. */
static void add_child(kibi_sweep_state *state, int32_t sketch, int32_t place, int32_t item, int64_t offset)
{
    const kibi_problem *p = state->problem;
    const uint64_t digest = state->sketches.digest[sketch] + digest_of(item, offset);
    uint64_t *seen = &state->seen[place_of(digest, (uint64_t)state->seen_room)];
    if (*seen == digest) {
        return; /* another way to the same */
    }
    *seen = digest;
    const int32_t *items = items_of(&state->sketches, state, sketch);
    const int64_t *offsets = offsets_of(&state->sketches, state, sketch);
    const int32_t count = state->sketches.count[sketch];
    const int32_t below = place > 0 ? state->top_end[items[place - 1]] : p->sections;
    const int32_t above = place < count ? state->bottom_end[items[place]] : p->sections;
    const int64_t floor = place > 0 ? offsets[place - 1] + p->size[items[place - 1]] : 0;
    const int64_t ceiling = place < count ? offsets[place] : state->capacity;
    const int32_t bottom_end = state->bottom_end[item];
    const int32_t top_end = state->top_end[item];
    const int64_t score = state->sketches.score[sketch] - between(state, below, above, floor < ceiling) +
                          between(state, below, bottom_end, floor < offset) + edge(state, bottom_end, top_end) +
                          between(state, top_end, above, offset + p->size[item] < ceiling);
    kibi_child *child = &state->child[state->children++];
    child->sketch = sketch;
    child->place = place;
    child->offset = offset;
    child->digest = digest;
    child->score = score;
    child->rank = score * 1024 + (int64_t)(mixed(digest ^ state->seed) % state->spread);
}

/* How far another item keeps this one away from it below and above; asked once for all sketches of a level. */
static const kibi_apart *apart_from(kibi_sweep_state *state, int32_t level, int32_t item, int32_t other)
{
    const kibi_problem *p = state->problem;
    kibi_apart *apart = &state->apart[other];
    if (apart->level == level) {
        return apart;
    }
    apart->level = level;
    if (state->is_plain[item] && state->is_plain[other]) {
        apart->below = p->size[item];
        apart->above = p->size[other];
    } else if (kibi_overlap(p, item, other)) {
        apart->below = kibi_distance(p, item, other);
        apart->above = kibi_distance(p, other, item);
    } else {
        apart->below = 0; /* an empty range */
        apart->above = 0;
    }
    return apart;
}

/* List the offsets that one item forbids another, as an open range, among those found so far, ascending by their lower ends. */
static int32_t add_range(kibi_range *range, int32_t ranges, const kibi_apart *apart, int64_t offset, int32_t place)
{
    const int64_t low = offset - apart->below;
    const int64_t high = offset + apart->above;
    if (low >= high) {
        return ranges;
    }
    int32_t at = ranges;
    while (at > 0 && range[at - 1].low > low) {
        range[at] = range[at - 1];
        at--;
    }
    range[at].low = low;
    range[at].high = high;
    range[at].place = place;
    return ranges + 1;
}

/* What is over a multiple of an alignment, most of which are powers of two. */
static int64_t over_multiple(int64_t offset, int64_t alignment)
{
    return (alignment & (alignment - 1)) == 0 ? offset & (alignment - 1) : offset % alignment;
}

/* Note the least and the greatest offset of an item in each hole of a sketch. */
static void expand(kibi_sweep_state *state, int32_t level, int32_t sketch, int32_t item)
{
    const kibi_problem *p = state->problem;
    const int32_t *items = items_of(&state->sketches, state, sketch);
    const int64_t *offsets = offsets_of(&state->sketches, state, sketch);
    const int32_t count = state->sketches.count[sketch];
    const int64_t alignment = p->alignment[item];
    const int64_t room = state->capacity - p->size[item];
    const int64_t highest = room < p->highest[item] ? room : p->highest[item];
    int32_t ranges = 0;
    for (int32_t k = 0; k < count; k++) {
        ranges = add_range(state->range, ranges, apart_from(state, level, item, items[k]), offsets[k], k);
    }
    int64_t lowest = p->lowest[item];
    int32_t place = 0;
    for (int32_t k = 0; k <= ranges && lowest <= highest; k++) {
        const int64_t end = k < ranges && state->range[k].low < highest ? state->range[k].low : highest;
        if (lowest <= end) {
            add_child(state, sketch, place, item, lowest);
            const int64_t top = end - over_multiple(end, alignment);
            if (top > lowest) {
                add_child(state, sketch, place, item, top);
            }
        }
        if (k < ranges && state->range[k].high > lowest) {
            const int64_t over = over_multiple(state->range[k].high, alignment);
            lowest = state->range[k].high + (over ? alignment - over : 0);
        }
        if (k < ranges && state->range[k].place >= place) {
            place = state->range[k].place + 1;
        }
    }
    state->work += (uint64_t)count;
}

static int is_better(const kibi_child *one, const kibi_child *other)
{
    return one->rank != other->rank ? one->rank < other->rank : one->digest < other->digest;
}

/* Move the best children to the front: Hoare's selection. */
static void select_best(kibi_child *child, int32_t count, int32_t wanted)
{
    int32_t low = 0;
    int32_t high = count - 1;
    while (low < high) {
        const kibi_child pivot = child[low + (high - low) / 2];
        int32_t i = low;
        int32_t k = high;
        while (i <= k) {
            while (is_better(&child[i], &pivot)) {
                i++;
            }
            while (is_better(&pivot, &child[k])) {
                k--;
            }
            if (i <= k) {
                const kibi_child moved = child[i];
                child[i++] = child[k];
                child[k--] = moved;
            }
        }
        if (wanted - 1 <= k) {
            high = k;
        } else if (wanted - 1 >= i) {
            low = i;
        } else {
            return;
        }
    }
}

/* Make sketches of the best children; remember the step that led to each. */
static void keep(kibi_sweep_state *state, int32_t level, int32_t item)
{
    const kibi_sketches old = state->sketches;
    const int32_t kept = state->children < state->width ? state->children : state->width;
    select_best(state->child, state->children, kept);
    state->sketches = state->spare;
    state->spare = old;
    for (int32_t c = 0; c < kept; c++) {
        const kibi_child *child = &state->child[c];
        const size_t below = (size_t)child->place;
        const size_t above = (size_t)old.count[child->sketch] - below;
        int32_t *items = items_of(&state->sketches, state, c);
        int64_t *offsets = offsets_of(&state->sketches, state, c);
        memcpy(items, items_of(&old, state, child->sketch), below * sizeof *items);
        memcpy(offsets, offsets_of(&old, state, child->sketch), below * sizeof *offsets);
        items[below] = item;
        offsets[below] = child->offset;
        memcpy(items + below + 1, items_of(&old, state, child->sketch) + below, above * sizeof *items);
        memcpy(offsets + below + 1, offsets_of(&old, state, child->sketch) + below, above * sizeof *offsets);
        state->sketches.count[c] = old.count[child->sketch] + 1;
        state->sketches.score[c] = child->score;
        state->sketches.digest[c] = child->digest;
        kibi_step *step = &state->step[(size_t)level * (size_t)state->width + (size_t)c];
        step->before = child->sketch;
        step->offset = child->offset;
    }
    state->work += 4u * (uint64_t)state->children + 6u * (uint64_t)kept;
    state->kept = kept;
}

static kibi_search_result sweep(kibi_sweep_state *state, const int32_t *order, uint64_t limit, kibi_go_on go_on)
{
    const kibi_problem *p = state->problem;
    for (int32_t level = 0; level < p->items; level++) {
        const int32_t item = order[level];
        const int32_t first = p->first[p->piece_start[item]];
        if (first > state->now && p->lowest[item] != p->highest[item]) {
            state->now = first;
            for (int32_t k = 0; k < state->kept; k++) {
                retire(state, k);
            }
        }
        memset(state->seen, 0, (size_t)state->seen_room * sizeof *state->seen);
        state->children = 0;
        for (int32_t k = 0; k < state->kept; k++) {
            expand(state, level, k, item);
        }
        keep(state, level, item);
        if (state->kept == 0) {
            return KIBI_SEARCH_NOT_FOUND;
        }
        if (state->work > limit || (level % 256 == 255 && go_on && !go_on())) {
            return KIBI_SEARCH_STOPPED;
        }
    }
    return KIBI_SEARCH_FOUND;
}

/* Follow the steps back from the best sketch. */
static void trace(const kibi_sweep_state *state, const int32_t *order, int64_t *offsets)
{
    int32_t sketch = 0;
    for (int32_t level = state->problem->items - 1; level >= 0; level--) {
        const kibi_step *step = &state->step[(size_t)level * (size_t)state->width + (size_t)sketch];
        offsets[order[level]] = step->offset;
        sketch = step->before;
    }
}

kibi_search_result kibi_sweep(const kibi_problem *problem, const kibi_sweep_plan *plan, int64_t capacity, uint64_t limit,
                              kibi_go_on go_on, int64_t *offsets, uint64_t *work)
{
    kibi_sweep_state state;
    memset(&state, 0, sizeof state);
    state.problem = problem;
    state.capacity = capacity;
    state.width = plan->width;
    state.seed = mixed(plan->seed + 1);
    state.spread = 1024u * (1u + (uint64_t)plan->noise); /* at least what decides among equals */
    state.bottom_end = plan->bottom_end;
    state.top_end = plan->top_end;
    state.cost = plan->cost;
    state.kept = 1;
    kibi_search_result result = KIBI_SEARCH_NO_MEMORY;
    if (kibi_sweep_make(&state)) {
        result = sweep(&state, plan->order, limit, go_on);
        if (result == KIBI_SEARCH_FOUND) {
            trace(&state, plan->order, offsets);
        }
    }
    if (work) {
        *work = state.work;
    }
    kibi_sweep_free(&state);
    return result;
}
