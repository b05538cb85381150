/* Static memory placement: an offset for each of many items, such that items that live together share no byte.
 *
 * Nothing here keeps state between calls or has globals, so calls may run in several threads at once. Quantities of memory
 * are in bytes and below 2^53. Indices and counts are below 2^31.
 */
#ifndef KIBI_PLACEMENT_H
#define KIBI_PLACEMENT_H

#include <stdint.h>

/* What to place. Time is cut into sections, numbered from 0: an item lives in some of them, which its pieces list.
 *
 * Two items overlap if they share a section. Of two that do, one is above the other: its offset exceeds the other's by at
 * least the other's size, or by less where the pair is listed as a rule.
 */
typedef struct {
    int32_t items;
    int32_t sections;
    const int32_t *piece_start;   /* [items + 1]: item i has the pieces piece_start[i] to piece_start[i + 1] - 1, at least one */
    const int32_t *first;         /* [pieces]: first section; ascending within an item */
    const int32_t *last;          /* [pieces]: one after the last section; above first */
    const int64_t *weight;        /* [pieces]: bytes to count in those sections; sums of them bound what the items take */
    const int64_t *size;          /* [items]: at least 1 */
    const int64_t *alignment;     /* [items]: at least 1; the offset is a multiple of it */
    const int64_t *lowest;        /* [items]: least offset, a multiple of the alignment */
    const int64_t *highest;       /* [items]: greatest offset; equal to the least one if it is fixed */
    const int32_t *rule_start;    /* [items + 1]: item i has the rules rule_start[i] to rule_start[i + 1] - 1 */
    const int32_t *rule_above;    /* [rules]: the item above; ascending within an item; each rule's reverse is listed too */
    const int64_t *rule_distance; /* [rules]: by how much its offset must exceed that of item i, if it is above i */
} kibi_problem;

/* How to search. All choices are sound; they differ in which instances they find easy. */
typedef struct {
    int32_t section_rule; /* which section to decide first, see choice.c */
    int32_t item_rule;    /* which item to try there first, see choice.c */
    double noise;         /* at least 0: by what share scores are changed at random */
    uint64_t seed;        /* of the random changes */
} kibi_strategy;

typedef enum {
    KIBI_SEARCH_FOUND = 0,      /* offsets hold a placement within the capacity */
    KIBI_SEARCH_IMPOSSIBLE = 1, /* none exists: everything was tried or excluded */
    KIBI_SEARCH_NOT_FOUND = 2,  /* none was found; rules with negative distances kept the search from being complete */
    KIBI_SEARCH_STOPPED = 3,    /* the work limit was reached, or `go_on` said so */
    KIBI_SEARCH_NO_MEMORY = 4   /* the host has no memory left */
} kibi_search_result;

/* Asked now and then: 0 ends the search. */
typedef int (*kibi_go_on)(void);

/* Search for a placement whose peak does not exceed a capacity.
 *
 * `limit` is the greatest amount of work, in visits of an item in a section; the result depends on nothing else. `offsets`
 * [items] is written if a placement is found. `work`, if not null, receives the work done.
 */
kibi_search_result kibi_search(const kibi_problem *problem, const kibi_strategy *strategy, int64_t capacity,
                               uint64_t limit, kibi_go_on go_on, int64_t *offsets, uint64_t *work);

/* How to sweep through time. */
typedef struct {
    const int32_t *order;      /* [items]: each item once, fixed ones first, the others ascending by their first section */
    const int32_t *bottom_end; /* [items]: one after the last section in which the item's lowest bytes are in use */
    const int32_t *top_end;    /* [items]: ... its highest bytes */
    const int64_t *cost;       /* [sections + 1]: what a hole costs from the first section to before this one; ascending */
    int32_t width;             /* at least 1: how many placements are made side by side */
    int32_t noise;             /* at least 0: by what cost scores are changed at random */
    uint64_t seed;             /* of the random changes */
} kibi_sweep_plan;

/* Look for a placement whose peak does not exceed a capacity, without backtracking: fast, and mostly good where lives are
 * short; never a proof. Arguments as for `kibi_search`; the result is one of FOUND, NOT_FOUND, STOPPED and NO_MEMORY.
 */
kibi_search_result kibi_sweep(const kibi_problem *problem, const kibi_sweep_plan *plan, int64_t capacity, uint64_t limit,
                              kibi_go_on go_on, int64_t *offsets, uint64_t *work);

/* Place items in the given order, each at the lowest offset that is free throughout its life.
 *
 * `order` [items] lists each item once; fixed items must come first. Returns the peak; -1 if the host has no memory left; -2
 * if an item cannot be placed within its bounds.
 */
int64_t kibi_first_fit(const kibi_problem *problem, const int32_t *order, int64_t *offsets);

/* True if two items share a section. */
int kibi_overlap(const kibi_problem *problem, int32_t one, int32_t other);

/* By how much the offset of `above` must exceed that of `below`, which it overlaps. */
int64_t kibi_distance(const kibi_problem *problem, int32_t below, int32_t above);

#endif
