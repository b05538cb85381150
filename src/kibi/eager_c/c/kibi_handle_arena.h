/* The arena with movable blocks: after uTensor's circular arena allocator. */
#ifndef KIBI_HANDLE_ARENA_H
#define KIBI_HANDLE_ARENA_H

#include "kibi_arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins an arena in which blocks are allocated and freed in any order, and move together to make room.
 *
 * A new block may be lost when the arena rebalances, until it is bound: kibi_contains tells. A bound block keeps its contents and
 * may move. A pinned block does not move. A request that fits no gap first makes bound blocks move round the unbound ones; where
 * that is not enough, unbound blocks are given up. Nothing moves and nothing is lost where that would not help either. */
kibi_status kibi_handle_arena_init(kibi_arena *arena, const kibi_arena_memory *memory, kibi_handler *handler);

/* Moves bound blocks together, and gives up unbound ones. Returns whether the free bytes are then in one piece. */
int kibi_rebalance(kibi_arena *arena);

#ifdef __cplusplus
}
#endif

#endif
