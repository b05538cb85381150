#include "sweep.h"

#include <stdlib.h>

static int make_sketches(kibi_sketches *sketches, size_t width, size_t room)
{
    sketches->count = calloc(width, sizeof *sketches->count);
    sketches->score = calloc(width, sizeof *sketches->score);
    sketches->digest = calloc(width, sizeof *sketches->digest);
    sketches->item = malloc(width * room * sizeof *sketches->item);
    sketches->offset = malloc(width * room * sizeof *sketches->offset);
    return sketches->count && sketches->score && sketches->digest && sketches->item && sketches->offset;
}

static void free_sketches(kibi_sketches *sketches)
{
    free(sketches->count);
    free(sketches->score);
    free(sketches->digest);
    free(sketches->item);
    free(sketches->offset);
}

/* What is known of each item; returns the most that are in a sketch at once, or -1 if there is no memory. */
static int32_t look(kibi_sweep_state *state)
{
    const kibi_problem *p = state->problem;
    int32_t *change = calloc((size_t)p->sections + 1, sizeof *change);
    if (!change) {
        return -1;
    }
    int32_t fixed = 0;
    for (int32_t i = 0; i < p->items; i++) {
        const int32_t pieces = p->piece_start[i];
        const int32_t end = p->piece_start[i + 1];
        const int is_fixed = p->lowest[i] == p->highest[i];
        state->last[i] = p->last[end - 1];
        state->is_plain[i] = !is_fixed && end - pieces == 1 && p->rule_start[i] == p->rule_start[i + 1];
        fixed += is_fixed;
        change[p->first[pieces]] += !is_fixed;
        change[p->last[end - 1]] -= !is_fixed;
    }
    int32_t live = 0;
    int32_t most = 0;
    for (int32_t s = 0; s < p->sections; s++) {
        live += change[s];
        most = live > most ? live : most;
    }
    free(change);
    return most + fixed;
}

/* Allocate everything, with one empty sketch; 0 if there is no memory. The caller frees in either case. */
int kibi_sweep_make(kibi_sweep_state *state)
{
    const size_t items = (size_t)state->problem->items + 1;
    const size_t width = (size_t)state->width;
    state->last = malloc(items * sizeof *state->last);
    state->is_plain = malloc(items);
    if (!state->last || !state->is_plain || (state->room = look(state) + 1) == 0) {
        return 0;
    }
    const size_t room = (size_t)state->room;
    state->seen_room = 8 * state->width;
    state->child = malloc(2 * width * (room + 1) * sizeof *state->child);
    state->range = malloc(room * sizeof *state->range);
    state->apart = malloc(items * sizeof *state->apart);
    state->seen = malloc((size_t)state->seen_room * sizeof *state->seen);
    state->step = malloc(items * width * sizeof *state->step);
    const int has_sketches = make_sketches(&state->sketches, width, room);
    const int has_spare = make_sketches(&state->spare, width, room);
    if (!has_sketches || !has_spare || !state->child || !state->range || !state->apart || !state->seen || !state->step) {
        return 0;
    }
    for (size_t i = 0; i < items; i++) {
        state->apart[i].level = -1;
    }
    return 1;
}

void kibi_sweep_free(kibi_sweep_state *state)
{
    free(state->last);
    free(state->is_plain);
    free_sketches(&state->sketches);
    free_sketches(&state->spare);
    free(state->child);
    free(state->range);
    free(state->apart);
    free(state->seen);
    free(state->step);
}
