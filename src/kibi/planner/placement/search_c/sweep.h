/* The state of a sweep; private to the files of this folder.
 *
 * A sweep places items in the order in which they start to live. A placement of those that have started is a sketch: of
 * what has died nothing needs to be known. Many sketches go side by side; each step makes children of all of them, one for
 * each end of each hole that the next item fits in, and keeps the best. Good are those that will have few holes, for a short
 * time, when room is not scarce: where neighbours die together, what they leave is one hole.
 */
#ifndef KIBI_PLACEMENT_SWEEP_H
#define KIBI_PLACEMENT_SWEEP_H

#include "placement.h"

#include <stddef.h>

/* Sketches: of each the number of items in it, its score (what its holes cost, now and later), a digest of what is
 * where, and `room` places for items with their offsets, from the bottom to the top. */
typedef struct {
    int32_t *count;
    int64_t *score;
    uint64_t *digest;
    int32_t *item;
    int64_t *offset;
} kibi_sketches;

/* A sketch with one item more, which has `place` others below it; the least rank is best. */
typedef struct {
    int32_t sketch, place;
    int64_t offset, score, rank;
    uint64_t digest;
} kibi_child;

/* Offsets that are taken, without the ends, by the item at that place of the sketch. */
typedef struct {
    int64_t low, high;
    int32_t place;
} kibi_range;

/* How far one item keeps another away from it below and above, if that was asked for at this level. */
typedef struct {
    int64_t below, above;
    int32_t level;
} kibi_apart;

/* From which sketch one came, and where its last item is. */
typedef struct {
    int64_t offset;
    int32_t before;
} kibi_step;

typedef struct {
    const kibi_problem *problem;
    int64_t capacity;
    int32_t width, room, kept, now;
    uint64_t work, seed, spread;
    const int32_t *bottom_end, *top_end;
    const int64_t *cost;
    int32_t *last;           /* [items]: one after the last section */
    unsigned char *is_plain; /* [items]: free, one piece, no rules */
    kibi_sketches sketches, spare;
    kibi_child *child; /* [2 * width * (room + 1)] */
    int32_t children;
    kibi_range *range; /* [room] */
    kibi_apart *apart; /* [items] */
    uint64_t *seen;    /* [seen_room]: digests of children, as many as are not overwritten */
    int32_t seen_room;
    kibi_step *step; /* [items][width] */
} kibi_sweep_state;

/* sweep_state.c */
int kibi_sweep_make(kibi_sweep_state *state);
void kibi_sweep_free(kibi_sweep_state *state);

#endif
