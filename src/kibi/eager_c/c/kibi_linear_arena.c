/* The arena with two ends. */
#include "kibi_linear_arena.h"

static kibi_linear_arena *linear_of(kibi_arena *arena)
{
    return (kibi_linear_arena *)(void *)arena;
}

static int32_t allocate(kibi_arena *arena, uint32_t bytes)
{
    kibi_linear_arena *const linear = linear_of(arena);
    uint32_t address;
    if (!kibi_can_place(arena, bytes)) {
        return KIBI_NO_ADDRESS;
    }
    address = bytes <= linear->persistent_start ? (linear->persistent_start - bytes) & ~(arena->alignment - 1) : 0;
    if (bytes > linear->persistent_start || address < linear->temporary_end) {
        (void)kibi_fail(arena->handler, KIBI_ERROR_MEMORY);
        return KIBI_NO_ADDRESS;
    }
    linear->persistent_start = address;
    return kibi_place(arena, address, bytes);
}

static kibi_status deallocate(kibi_arena *arena, int32_t address)
{
    kibi_block *block;
    const kibi_status status = kibi_find_block(arena, address, &block);
    return status != KIBI_OK ? status : kibi_fail(arena->handler, KIBI_ERROR_NOT_ONE_BY_ONE);
}

static uint32_t available(const kibi_arena *arena)
{
    const kibi_linear_arena *const linear = (const kibi_linear_arena *)(const void *)arena;
    const uint32_t bottom = kibi_align_up(linear->temporary_end, arena->alignment);
    const uint32_t top = linear->persistent_start & ~(arena->alignment - 1);
    return top > bottom ? top - bottom : 0;
}

kibi_status kibi_linear_arena_init(kibi_linear_arena *arena, const kibi_arena_memory *memory, kibi_handler *handler)
{
    static const kibi_arena_kind kind = {allocate, deallocate, available};
    const kibi_status status = kibi_arena_init((kibi_arena *)(void *)arena, &kind, memory, handler);
    if (status == KIBI_OK) {
        arena->planned_end = 0;
        arena->temporary_end = 0;
        arena->persistent_start = memory->bytes;
    }
    return status;
}

int32_t kibi_allocate_temporary(kibi_linear_arena *arena, uint32_t bytes)
{
    uint32_t address;
    if (arena == NULL || !kibi_can_place(&arena->base, bytes)) {
        return KIBI_NO_ADDRESS;
    }
    address = kibi_align_up(arena->temporary_end, arena->base.alignment);
    if (address + bytes > arena->persistent_start) {
        (void)kibi_fail(arena->base.handler, KIBI_ERROR_MEMORY);
        return KIBI_NO_ADDRESS;
    }
    arena->temporary_end = address + bytes;
    return kibi_place(&arena->base, address, bytes);
}

int32_t kibi_resize_planned(kibi_linear_arena *arena, uint32_t bytes)
{
    kibi_block *block;
    kibi_status status = KIBI_OK;
    if (arena == NULL) {
        return KIBI_NO_ADDRESS;
    }
    block = arena->planned_end != 0 ? kibi_block_at(&arena->base, 0) : NULL;
    if (bytes == 0) {
        status = KIBI_ERROR_ARGUMENT;
    } else if (arena->temporary_end > arena->planned_end || bytes > arena->persistent_start || bytes > KIBI_LARGEST_BLOCK ||
               (block == NULL && arena->base.count == arena->base.capacity)) {
        status = KIBI_ERROR_MEMORY;
    } else if (block != NULL && block->handle != NULL && block->handle->pins != 0) {
        status = KIBI_ERROR_PINNED;
    }
    if (status != KIBI_OK) {
        (void)kibi_fail(arena->base.handler, status);
        return KIBI_NO_ADDRESS;
    }
    if (block != NULL) {
        block->size = (kibi_extent)bytes;
    } else {
        (void)kibi_place(&arena->base, 0, bytes);
    }
    arena->planned_end = bytes;
    arena->temporary_end = bytes;
    return 0;
}

/* Gives up the blocks of some addresses, if none of them is pinned. */
static kibi_status give_up(kibi_arena *arena, uint32_t from, uint32_t to)
{
    for (unsigned i = 0; i < arena->count; ++i) {
        const kibi_block *const block = arena->blocks + i;
        if (block->offset >= from && block->offset < to && block->handle != NULL && block->handle->pins != 0) {
            return kibi_fail(arena->handler, KIBI_ERROR_PINNED);
        }
    }
    for (unsigned i = arena->count; i-- > 0;) {
        if (arena->blocks[i].offset >= from && arena->blocks[i].offset < to) {
            kibi_release(arena, arena->blocks + i);
        }
    }
    return KIBI_OK;
}

kibi_status kibi_reset_temporary(kibi_linear_arena *arena)
{
    const kibi_status status = arena == NULL ? KIBI_ERROR_NULL : give_up(&arena->base, arena->planned_end, arena->persistent_start);
    if (status == KIBI_OK) {
        arena->temporary_end = arena->planned_end;
    }
    return status;
}

kibi_status kibi_reset_linear(kibi_linear_arena *arena)
{
    const kibi_status status = arena == NULL ? KIBI_ERROR_NULL : give_up(&arena->base, 0, arena->base.bytes);
    if (status == KIBI_OK) {
        arena->planned_end = 0;
        arena->temporary_end = 0;
        arena->persistent_start = arena->base.bytes;
    }
    return status;
}
