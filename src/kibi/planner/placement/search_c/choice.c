#include "search.h"

/* Which section to decide first: the one with the least score. Slack is the share of the capacity that the section can
 * still lose; candidates are the items that may be its lowest open one. */
enum {
    FEWEST_CANDIDATES = 0,
    LEAST_SLACK = 1,
    LOWEST_FEWEST = 2,   /* the least height, then the fewest candidates */
    CONFLICT_FEWEST = 3, /* the fewest candidates in proportion to the conflicts there so far */
    CONFLICT_SLACK = 4,  /* ... candidates times slack */
    SLACK_FEWEST = 5,    /* candidates times slack */
    LOWEST_TIGHTEST = 6, /* the least height, then the least slack */
    MOST_CONFLICTS = 7
};

/* Which of its items to try first: the one with the greatest score. */
enum {
    LONGEST = 0,
    AREA = 1,
    LARGEST = 2,
    LOWEST = 3, /* the least bound, then area */
    LONG_AREA = 4,
    LARGE_AREA = 5,
    CONTENDED = 6, /* size times the sum of the scarcity of the sections */
    LOOK_STRICT = 7, /* place it, and look what slack is left everywhere; three measures */
    LOOK = 8,
    LOOK_MILD = 9
};

static double slack(const kibi_search_state *state, int32_t s)
{
    return (double)(state->capacity - state->open[s] - state->height[s]) / (double)state->capacity;
}

static double section_score(const kibi_search_state *state, int32_t s)
{
    const double candidates = state->candidates[s];
    const double height = 1000.0 * (double)state->height[s] / (double)state->capacity;
    switch (state->strategy->section_rule) {
    case LEAST_SLACK: return 1000 * slack(state, s) + 0.001 * candidates;
    case LOWEST_FEWEST: return height + 0.001 * candidates;
    case CONFLICT_FEWEST: return (candidates + slack(state, s)) / (1 + state->conflicts[s]);
    case CONFLICT_SLACK: return (0.001 + slack(state, s)) * candidates / (1 + state->conflicts[s]);
    case SLACK_FEWEST: return (0.01 + slack(state, s)) * candidates;
    case LOWEST_TIGHTEST: return height + slack(state, s);
    case MOST_CONFLICTS: return 0.001 * candidates - state->conflicts[s];
    default: return candidates + 0.5 * slack(state, s);
    }
}

static double noisy(kibi_search_state *state, double score, double share)
{
    return state->strategy->noise > 0 ? score * (1 + share * state->strategy->noise * kibi_random(state)) : score;
}

/* The section to decide, among those where a settled item may be the lowest; -1 if there are none. */
static int32_t choose_section(kibi_search_state *state, const kibi_extent *extent)
{
    int32_t chosen = -1;
    double least = 0;
    for (int32_t s = extent->first; s < extent->last; s++) {
        if (state->settled[s] == 0) {
            continue;
        }
        const double score = noisy(state, section_score(state, s), 1);
        if (chosen < 0 || score < least) {
            chosen = s;
            least = score;
        }
    }
    return chosen;
}

static int lives_in(const kibi_problem *p, int32_t item, int32_t s)
{
    for (int32_t piece = p->piece_start[item]; piece < p->piece_start[item + 1]; piece++) {
        if (p->first[piece] <= s && s < p->last[piece]) {
            return 1;
        }
    }
    return 0;
}

static double contention(const kibi_search_state *state, int32_t item)
{
    const kibi_problem *p = state->problem;
    double sum = 0;
    for (int32_t piece = p->piece_start[item]; piece < p->piece_start[item + 1]; piece++) {
        for (int32_t s = p->first[piece]; s < p->last[piece]; s++) {
            sum += 1 / (0.001 + slack(state, s));
        }
    }
    return sum * (double)p->size[item] / (double)state->capacity;
}

/* How scarce room would be everywhere if the item were placed at its bound. */
static double scarcity_after(kibi_search_state *state, int32_t begin, int32_t end, const kibi_extent *extent, int32_t item)
{
    const kibi_problem *p = state->problem;
    static const double ease[] = {0.005, 0.02, 0.1};
    const double softness = ease[state->strategy->item_rule - LOOK_STRICT];
    const int64_t top = state->bound[item] + p->size[item];
    const int is_plain = p->rule_start[item] == p->rule_start[item + 1];
    for (int32_t k = begin; k < end; k++) { /* descending by old bound: raised ones may come late, so take the least */
        const int32_t other = state->order[k];
        int64_t bound = state->bound[other];
        if (other == item) {
            continue;
        }
        if (bound < top && state->first[other] < state->last[item] && state->last[other] > state->first[item] &&
            kibi_overlap(p, item, other)) {
            const int64_t above = is_plain ? top : state->bound[item] + kibi_distance(p, item, other);
            bound = above > bound ? above : bound;
        }
        for (int32_t piece = p->piece_start[other]; piece < p->piece_start[other + 1]; piece++) {
            for (int32_t s = p->first[piece]; s < p->last[piece]; s++) {
                state->next_height[s] = bound < state->next_height[s] ? bound : state->next_height[s];
            }
        }
    }
    for (int32_t piece = p->piece_start[item]; piece < p->piece_start[item + 1]; piece++) {
        for (int32_t s = p->first[piece]; s < p->last[piece]; s++) {
            state->open[s] -= p->weight[piece];
        }
    }
    double sum = 0;
    for (int32_t s = extent->first; s < extent->last; s++) {
        if (state->next_height[s] < KIBI_NEVER) {
            const int64_t left = state->capacity - state->open[s] - state->next_height[s];
            sum += left < 0 ? 1e9 : 1 / (softness + (double)left / (double)state->capacity);
        }
        state->next_height[s] = KIBI_NEVER;
    }
    for (int32_t piece = p->piece_start[item]; piece < p->piece_start[item + 1]; piece++) {
        for (int32_t s = p->first[piece]; s < p->last[piece]; s++) {
            state->open[s] += p->weight[piece];
        }
    }
    state->work += extent->visits;
    return sum;
}

static double item_score(kibi_search_state *state, int32_t begin, int32_t end, const kibi_extent *extent, int32_t item)
{
    const double span = state->span[item];
    const double size = (double)state->problem->size[item] / (double)state->capacity;
    switch (state->strategy->item_rule) {
    case AREA: return noisy(state, span * size, 1);
    case LARGEST: return noisy(state, size + 0.0001 * span, 1);
    case LOWEST: return noisy(state, span * size, 1) - 1000.0 * (double)state->bound[item] / (double)state->capacity;
    case LONG_AREA: return noisy(state, span * span * size, 1);
    case LARGE_AREA: return noisy(state, span * size * size, 1);
    case CONTENDED: return noisy(state, contention(state, item), 1);
    case LOOK_STRICT:
    case LOOK:
    case LOOK_MILD: return -noisy(state, scarcity_after(state, begin, end, extent, item), 0.1);
    default: return noisy(state, span + size, 1);
    }
}

/* The item to decide on: settled, and if possible one that may be the lowest in the chosen section. */
int32_t kibi_choose(kibi_search_state *state, int32_t begin, int32_t end, const kibi_extent *extent)
{
    const int32_t section = choose_section(state, extent);
    if (section < 0) {
        state->is_incomplete = 1;
        return state->order[end - 1]; /* the least bound */
    }
    const int64_t room = state->capacity - state->open[section];
    for (int32_t s = extent->first; s < extent->last; s++) {
        state->next_height[s] = KIBI_NEVER;
    }
    int32_t chosen = -1;
    double greatest = 0;
    for (int32_t k = end - 1; k >= begin; k--) {
        const int32_t item = state->order[k];
        if (state->bound[item] > room) {
            break; /* they only rise from here */
        }
        if (!state->is_settled[item] || !lives_in(state->problem, item, section)) {
            continue;
        }
        const double score = item_score(state, begin, end, extent, item);
        if (chosen < 0 || score > greatest || (score >= greatest && item < chosen)) {
            chosen = item;
            greatest = score;
        }
    }
    return chosen;
}
