/* The search's state; private to the files of this folder.
 *
 * A state of the search is a set of open items, each with a least offset, its bound. It represents all placements of those
 * items that respect the bounds. A step picks an open item b and splits them in two:
 *
 *   - b is at its bound. Then it is placed: the bounds of all open items that overlap it rise above it.
 *   - b is above its bound. Push all items down until each rests; then b rests on another open item, so its bound rises.
 *
 * The first half is only taken for an item that no other fits below while it is at its bound ("settled"); the item with
 * the least bound is one, unless rules have distances of 0 or less.
 */
#ifndef KIBI_PLACEMENT_SEARCH_H
#define KIBI_PLACEMENT_SEARCH_H

#include "placement.h"

#include <stddef.h>

#define KIBI_NEVER (INT64_MAX / 4)

typedef struct {
    int32_t item;
    int64_t bound;
} kibi_change;

typedef struct {
    uint64_t one, other;
} kibi_digest;

typedef struct {
    const kibi_problem *problem;
    const kibi_strategy *strategy;
    int64_t capacity;
    kibi_go_on go_on;
    uint64_t limit, work, next_question, random;
    int is_incomplete;

    /* For each item. */
    int64_t *bound, *highest, *offset;
    int32_t *first, *last; /* the hull of its life */
    int32_t *order;        /* all items; those of a part of the problem are neighbours, descending by bound if `sort`ed */
    unsigned char *is_plain, *is_settled, *is_open;
    int32_t *span; /* number of sections */

    int64_t *rule_reverse; /* for each rule, the distance the other way round; KIBI_NEVER if the items do not overlap */

    /* For each section, of the part that is being looked at. */
    int64_t *open;        /* bytes of open items */
    int64_t *height;      /* the least bound of its open items; KIBI_NEVER where there are none */
    int64_t *least_top;   /* the least of bound + size of its open items */
    int64_t *next_height; /* scratch: the height that a placement would lead to */
    int32_t *candidates;  /* number of items that may be the lowest open one here */
    int32_t *settled;     /* ... of those that are settled */
    int32_t *crossing;    /* scratch: changes in the number of lives that go on, from section to section */
    double *conflicts;    /* how often this section was the reason to turn back */

    int32_t *parts; /* stack of the parts that states fell into */
    int32_t parts_count;

    kibi_change *trail;
    size_t trail_count, trail_room;
    kibi_digest *failed; /* hash table of states without a solution */
} kibi_search_state;

/* A part of the problem: its sections, half-open; how many independent parts it has; how often its items are in a section. */
typedef struct {
    int32_t first, last, parts;
    uint64_t visits;
} kibi_extent;

/* state.c */
int kibi_state_make(kibi_search_state *state);
void kibi_state_free(kibi_search_state *state);
int kibi_raise(kibi_search_state *state, int32_t item, int64_t bound);
void kibi_undo(kibi_search_state *state, size_t trail_count);
kibi_digest kibi_state_digest(const kibi_search_state *state, int32_t begin, int32_t end);
int kibi_is_failed(const kibi_search_state *state, kibi_digest digest);
void kibi_set_failed(kibi_search_state *state, kibi_digest digest);
double kibi_random(kibi_search_state *state);

/* bounds.c */
int kibi_bounds(kibi_search_state *state, int32_t begin, int32_t end, kibi_extent *extent);
int64_t kibi_next_bound(const kibi_search_state *state, int32_t begin, int32_t end, int32_t item);

/* choice.c */
int32_t kibi_choose(kibi_search_state *state, int32_t begin, int32_t end, const kibi_extent *extent);

#endif
