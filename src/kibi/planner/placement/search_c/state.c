#include "search.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE ((size_t)1 << 17)

static int64_t aligned(int64_t offset, int64_t alignment)
{
    const int64_t over = offset % alignment;
    return over ? offset + alignment - over : offset;
}

static void fill(kibi_search_state *state)
{
    const kibi_problem *p = state->problem;
    for (int32_t i = 0; i < p->items; i++) {
        const int32_t pieces = p->piece_start[i];
        const int32_t end = p->piece_start[i + 1];
        state->bound[i] = p->lowest[i];
        state->highest[i] = state->capacity - p->size[i] < p->highest[i] ? state->capacity - p->size[i] : p->highest[i];
        state->first[i] = p->first[pieces];
        state->last[i] = p->last[end - 1];
        state->order[i] = i;
        state->is_plain[i] = end - pieces == 1 && p->rule_start[i] == p->rule_start[i + 1];
        state->is_open[i] = 1;
        for (int32_t k = p->rule_start[i]; k < p->rule_start[i + 1]; k++) {
            const int32_t other = p->rule_above[k];
            state->rule_reverse[k] = kibi_overlap(p, i, other) ? kibi_distance(p, other, i) : KIBI_NEVER;
        }
        state->span[i] = 0;
        for (int32_t k = pieces; k < end; k++) {
            state->span[i] += p->last[k] - p->first[k];
        }
    }
    for (int32_t s = 0; s < p->sections; s++) {
        state->conflicts[s] = 0;
    }
}

/* Allocate everything; 0 if there is no memory. The caller frees in either case. */
int kibi_state_make(kibi_search_state *state)
{
    const size_t items = (size_t)state->problem->items + 1;
    const size_t sections = (size_t)state->problem->sections + 1;
    state->bound = malloc(items * sizeof *state->bound);
    state->highest = malloc(items * sizeof *state->highest);
    state->offset = malloc(items * sizeof *state->offset);
    state->first = malloc(items * sizeof *state->first);
    state->last = malloc(items * sizeof *state->last);
    state->order = malloc(items * sizeof *state->order);
    state->is_plain = malloc(items);
    state->is_settled = malloc(items);
    state->is_open = malloc(items);
    state->rule_reverse = malloc(((size_t)state->problem->rule_start[items - 1] + 1) * sizeof *state->rule_reverse);
    state->span = malloc(items * sizeof *state->span);
    state->open = malloc(sections * sizeof *state->open);
    state->height = malloc(sections * sizeof *state->height);
    state->least_top = malloc(sections * sizeof *state->least_top);
    state->next_height = malloc(sections * sizeof *state->next_height);
    state->candidates = malloc(sections * sizeof *state->candidates);
    state->settled = malloc(sections * sizeof *state->settled);
    state->crossing = malloc(sections * sizeof *state->crossing);
    state->conflicts = malloc(sections * sizeof *state->conflicts);
    state->parts = malloc(4 * items * sizeof *state->parts);
    state->trail_room = 4 * items;
    state->trail = malloc(state->trail_room * sizeof *state->trail);
    state->failed = calloc(TABLE_SIZE, sizeof *state->failed);
    if (!state->bound || !state->highest || !state->offset || !state->first || !state->last || !state->order ||
        !state->is_plain || !state->is_settled || !state->is_open || !state->rule_reverse || !state->span ||
        !state->open || !state->height || !state->least_top || !state->next_height || !state->candidates ||
        !state->settled || !state->crossing || !state->conflicts || !state->parts || !state->trail || !state->failed) {
        return 0;
    }
    fill(state);
    return 1;
}

void kibi_state_free(kibi_search_state *state)
{
    free(state->bound);
    free(state->highest);
    free(state->offset);
    free(state->first);
    free(state->last);
    free(state->order);
    free(state->is_plain);
    free(state->is_settled);
    free(state->is_open);
    free(state->rule_reverse);
    free(state->span);
    free(state->open);
    free(state->height);
    free(state->least_top);
    free(state->next_height);
    free(state->candidates);
    free(state->settled);
    free(state->crossing);
    free(state->conflicts);
    free(state->parts);
    free(state->trail);
    free(state->failed);
}

/* Raise an item's bound, and remember what it was; 0 if the item cannot be that high, or if there is no memory: then the
 * search ends. */
int kibi_raise(kibi_search_state *state, int32_t item, int64_t bound)
{
    if (bound <= state->bound[item]) {
        return 1;
    }
    const int64_t raised = aligned(bound, state->problem->alignment[item]);
    if (raised > state->highest[item]) {
        return 0;
    }
    if (state->trail_count == state->trail_room) {
        kibi_change *larger = realloc(state->trail, 2 * state->trail_room * sizeof *larger);
        if (!larger) {
            state->limit = 0;
            return 0;
        }
        state->trail = larger;
        state->trail_room *= 2;
    }
    state->trail[state->trail_count].item = item;
    state->trail[state->trail_count].bound = state->bound[item];
    state->trail_count++;
    state->bound[item] = raised;
    return 1;
}

void kibi_undo(kibi_search_state *state, size_t trail_count)
{
    while (state->trail_count > trail_count) {
        state->trail_count--;
        state->bound[state->trail[state->trail_count].item] = state->trail[state->trail_count].bound;
    }
}

static uint64_t mixed(uint64_t bits)
{
    bits ^= bits >> 32;
    bits *= 0xd6e8feb86659fd93u;
    bits ^= bits >> 32;
    bits *= 0xd6e8feb86659fd93u;
    return bits ^ bits >> 32;
}

/* A state is its open items with their bounds, in whatever order they are met. With 128 bits, two states of one search that
 * share a digest are not to be expected in the age of the universe. */
kibi_digest kibi_state_digest(const kibi_search_state *state, int32_t begin, int32_t end)
{
    kibi_digest digest = {1, 1};
    for (int32_t k = begin; k < end; k++) {
        const uint64_t item = (uint64_t)state->order[k] + 1;
        const uint64_t one = mixed((uint64_t)state->bound[state->order[k]] + item * 0x9e3779b97f4a7c15u);
        digest.one += one;
        digest.other += mixed(one ^ item * 0xc2b2ae3d27d4eb4fu);
    }
    return digest;
}

int kibi_is_failed(const kibi_search_state *state, kibi_digest digest)
{
    const kibi_digest *entry = &state->failed[digest.one % TABLE_SIZE];
    return entry->one == digest.one && entry->other == digest.other;
}

void kibi_set_failed(kibi_search_state *state, kibi_digest digest)
{
    state->failed[digest.one % TABLE_SIZE] = digest;
}

/* Evenly between 0 and 1; a xorshift generator, Marsaglia 2003. */
double kibi_random(kibi_search_state *state)
{
    state->random ^= state->random << 13;
    state->random ^= state->random >> 7;
    state->random ^= state->random << 17;
    return (double)(state->random >> 11) * (1.0 / 9007199254740992.0);
}
