/* The arena with two ends: after TensorFlow Lite Micro's single-arena buffer allocator. */
#ifndef KIBI_LINEAR_ARENA_H
#define KIBI_LINEAR_ARENA_H

#include "kibi_arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Persistent blocks come down from the top and stay; one planned block is at the bottom; temporary ones go up after it. No block
 * is freed alone, and none moves. Give &arena.base to functions that take an arena: kibi_allocate gives persistent blocks. */
typedef struct {
    kibi_arena base;
    uint32_t planned_end;
    uint32_t temporary_end;
    uint32_t persistent_start;
} kibi_linear_arena;

kibi_status kibi_linear_arena_init(kibi_linear_arena *arena, const kibi_arena_memory *memory, kibi_handler *handler);

/* The address of a new block that lives until kibi_reset_temporary; KIBI_NO_ADDRESS after a report where there is no room. */
int32_t kibi_allocate_temporary(kibi_linear_arena *arena, uint32_t bytes);

/* Makes the planned block, or changes its size; it keeps its bytes. Returns its address, 0; KIBI_NO_ADDRESS after a report where
 * temporary blocks live, or the other end is in the way, or it is pinned. */
int32_t kibi_resize_planned(kibi_linear_arena *arena, uint32_t bytes);

/* Gives up all temporary blocks. KIBI_ERROR_PINNED: one is in use, and all stay. */
kibi_status kibi_reset_temporary(kibi_linear_arena *arena);

/* Gives up all blocks. KIBI_ERROR_PINNED: one is in use, and all stay. */
kibi_status kibi_reset_linear(kibi_linear_arena *arena);

#ifdef __cplusplus
}
#endif

#endif
