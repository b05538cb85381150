/* Random placement problems, solved under sanitizers: `placement_random SEED PROBLEMS`. The exit code is 1 if an answer is wrong. */
#include "placement.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_ITEMS = 40, MOST_PIECES = 2 * MOST_ITEMS, SECTIONS = 24, SECTION_RULES = 8, ITEM_RULES = 10 };

typedef struct {
    kibi_problem problem;
    int32_t piece_start[MOST_ITEMS + 1], first[MOST_PIECES], last[MOST_PIECES], rule_start[MOST_ITEMS + 1], order[MOST_ITEMS];
    int64_t weight[MOST_PIECES], size[MOST_ITEMS], alignment[MOST_ITEMS], lowest[MOST_ITEMS], highest[MOST_ITEMS];
} random_problem;

static uint64_t state;

static int32_t below(int32_t end)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((state >> 33) % (uint64_t)end);
}

static void make(random_problem *made)
{
    const int32_t items = 1 + below(MOST_ITEMS);
    int32_t pieces = 0;
    for (int32_t i = 0; i < items; i++) {
        made->piece_start[i] = pieces;
        made->rule_start[i] = 0;
        made->order[i] = i;
        made->size[i] = 1 + below(30);
        made->alignment[i] = below(4) ? 1 : 4;
        made->lowest[i] = 0;
        made->highest[i] = INT64_MAX / 8;
        const int32_t first = below(SECTIONS - 3);
        made->first[pieces] = first;
        made->last[pieces] = first + 1 + below(SECTIONS - 2 - first);
        made->weight[pieces] = made->size[i];
        pieces++;
        const int32_t end = made->last[pieces - 1];
        if (end + 1 < SECTIONS && below(4) == 0) { /* a gap of one section */
            made->first[pieces] = end + 1;
            made->last[pieces] = SECTIONS;
            made->weight[pieces] = made->size[i];
            pieces++;
        }
    }
    made->piece_start[items] = pieces;
    made->rule_start[items] = 0;
    made->problem = (kibi_problem){
        items,      SECTIONS,        made->piece_start, made->first,   made->last,       made->weight, made->size,
        made->alignment, made->lowest, made->highest,   made->rule_start, NULL,          NULL,
    };
}

static int is_right(const random_problem *made, const int64_t *offsets, int64_t peak)
{
    for (int32_t i = 0; i < made->problem.items; i++) {
        if (offsets[i] < 0 || offsets[i] % made->alignment[i] != 0 || offsets[i] + made->size[i] > peak) {
            return 0;
        }
        for (int32_t k = 0; k < i; k++) {
            if (kibi_overlap(&made->problem, i, k) && offsets[i] < offsets[k] + made->size[k] &&
                offsets[k] < offsets[i] + made->size[i]) {
                return 0;
            }
        }
    }
    return 1;
}

/* Items by their first section; an insertion sort. */
static void sort(random_problem *made)
{
    for (int32_t k = 1; k < made->problem.items; k++) {
        const int32_t item = made->order[k];
        int32_t to = k;
        for (; to > 0 && made->first[made->piece_start[made->order[to - 1]]] > made->first[made->piece_start[item]]; to--) {
            made->order[to] = made->order[to - 1];
        }
        made->order[to] = item;
    }
}

/* Whether sweeps of several widths find nothing wrong, and something where there is room for everything. */
static int sweeps_are_right(random_problem *made, int64_t peak)
{
    int64_t cost[SECTIONS + 1], offsets[MOST_ITEMS], all = 0;
    int32_t end[MOST_ITEMS];
    for (int32_t s = 0; s <= SECTIONS; s++) {
        cost[s] = s;
    }
    for (int32_t i = 0; i < made->problem.items; i++) {
        end[i] = made->last[made->piece_start[i + 1] - 1];
        all += made->size[i] + made->alignment[i];
    }
    sort(made);
    for (int32_t width = 1; width < 200; width *= 5) {
        const kibi_sweep_plan plan = {made->order, end, end, cost, width, below(4), (uint64_t)width};
        const int64_t capacity = width == 1 ? all : peak * (80 + below(25)) / 100;
        const kibi_search_result result = kibi_sweep(&made->problem, &plan, capacity, 10000000, NULL, offsets, NULL);
        if (result == KIBI_SEARCH_FOUND ? !is_right(made, offsets, capacity) : width == 1 || result != KIBI_SEARCH_NOT_FOUND) {
            return 0;
        }
    }
    return 1;
}

int main(int count, char **arguments)
{
    if (count != 3) {
        return 2;
    }
    state = strtoull(arguments[1], NULL, 10);
    for (long left = strtol(arguments[2], NULL, 10); left > 0; left--) {
        static random_problem made;
        int64_t offsets[MOST_ITEMS];
        make(&made);
        const int64_t peak = kibi_first_fit(&made.problem, made.order, offsets);
        if (peak < 0 || !is_right(&made, offsets, peak)) {
            printf("first fit: wrong\n");
            return 1;
        }
        if (!sweeps_are_right(&made, peak)) {
            printf("sweep: wrong\n");
            return 1;
        }
        for (int32_t rule = 0; rule < SECTION_RULES * ITEM_RULES; rule++) {
            const kibi_strategy strategy = {rule % SECTION_RULES, rule / SECTION_RULES, 0.2 * below(3), (uint64_t)rule};
            const int64_t capacity = peak * (80 + below(25)) / 100;
            uint64_t work = 0;
            const kibi_search_result result = kibi_search(&made.problem, &strategy, capacity, 20000, NULL, offsets, &work);
            if ((result == KIBI_SEARCH_FOUND && !is_right(&made, offsets, capacity)) ||
                (result == KIBI_SEARCH_IMPOSSIBLE && capacity >= peak) || result == KIBI_SEARCH_NO_MEMORY) {
                printf("strategy %d: wrong\n", (int)rule);
                return 1;
            }
        }
    }
    return 0;
}
