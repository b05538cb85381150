/* What all arenas have: their bytes, the table of blocks, handles and pins. */
#include "kibi_arena.h"

#include <string.h>

/* Reports an error of an arena; nobody hears of it without one. */
static KIBI_NOINLINE kibi_status fail(const kibi_arena *arena, kibi_status status)
{
    return arena == NULL ? KIBI_ERROR_NULL : kibi_fail(arena->handler, status);
}

kibi_status kibi_arena_init(kibi_arena *arena, const kibi_arena_kind *kind, const kibi_arena_memory *memory,
                            kibi_handler *handler)
{
    uint32_t alignment;
    if (arena != NULL) { /* one that is refused hands out nothing, and says so */
        arena->kind = NULL;
        arena->handler = handler;
        arena->count = 0;
    }
    if (arena == NULL || memory == NULL || memory->memory == NULL || memory->blocks == NULL) {
        return kibi_fail(handler, KIBI_ERROR_NULL);
    }
    alignment = memory->alignment;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || memory->bytes == 0 || memory->bytes > KIBI_LARGEST_ARENA) {
        return kibi_fail(handler, KIBI_ERROR_ARGUMENT);
    }
    if (((uintptr_t)memory->memory & (alignment - 1)) != 0) {
        return kibi_fail(handler, KIBI_ERROR_ARENA_ALIGNMENT);
    }
    arena->kind = kind;
    arena->memory = (uint8_t *)memory->memory;
    arena->blocks = memory->blocks;
    arena->bytes = memory->bytes;
    arena->capacity = memory->block_count;
    arena->alignment = alignment;
    kibi_notify(handler, KIBI_EVENT_ARENA_CONSTRUCTED);
    return KIBI_OK;
}

kibi_block *kibi_block_at(const kibi_arena *arena, int32_t address)
{
    for (unsigned i = 0; arena != NULL && i < arena->count; ++i) {
        if ((int32_t)arena->blocks[i].offset == address) {
            return arena->blocks + i;
        }
    }
    return NULL;
}

kibi_status kibi_find_block(kibi_arena *arena, int32_t address, kibi_block **found)
{
    *found = kibi_block_at(arena, address);
    if (*found != NULL) {
        return KIBI_OK;
    }
    return fail(arena, arena != NULL && (uint32_t)address < arena->bytes ? KIBI_ERROR_NO_BLOCK : KIBI_ERROR_BOUNDS);
}

/* The block of a handle; NULL where it has none here. */
static kibi_block *block_of(const kibi_arena *arena, const kibi_handle *handle)
{
    for (unsigned i = 0; arena != NULL && handle != NULL && i < arena->count; ++i) {
        if (arena->blocks[i].handle == handle) {
            return arena->blocks + i;
        }
    }
    return NULL;
}

int kibi_can_place(kibi_arena *arena, uint32_t bytes)
{
    if (bytes == 0) {
        (void)fail(arena, KIBI_ERROR_ARGUMENT);
        return 0;
    }
    if (bytes > KIBI_LARGEST_BLOCK || bytes > arena->bytes || arena->count == arena->capacity) {
        (void)fail(arena, KIBI_ERROR_MEMORY);
        return 0;
    }
    return 1;
}

int32_t kibi_place(kibi_arena *arena, uint32_t address, uint32_t bytes)
{
    kibi_block *block = arena->blocks + arena->count++;
    for (; block > arena->blocks && block[-1].offset > address; --block) {
        block[0] = block[-1];
    }
    block->offset = (kibi_extent)address;
    block->size = (kibi_extent)bytes;
    block->handle = NULL;
    return (int32_t)address;
}

void kibi_release(kibi_arena *arena, kibi_block *block)
{
    kibi_block *const last = arena->blocks + --arena->count;
    if (block->handle != NULL) {
        block->handle->data = NULL;
    }
    memmove(block, block + 1, (size_t)(last - block) * sizeof *block);
}

kibi_status kibi_deallocate_one(kibi_arena *arena, int32_t address)
{
    kibi_block *block;
    const kibi_status status = kibi_find_block(arena, address, &block);
    if (status != KIBI_OK) {
        return status;
    }
    if (block->handle != NULL && block->handle->pins != 0) {
        return fail(arena, KIBI_ERROR_PINNED);
    }
    kibi_release(arena, block);
    return KIBI_OK;
}

int32_t kibi_allocate(kibi_arena *arena, uint32_t bytes)
{
    if (arena == NULL || arena->kind == NULL) {
        (void)fail(arena, KIBI_ERROR_NOT_INITIALIZED);
        return KIBI_NO_ADDRESS;
    }
    return arena->kind->allocate(arena, bytes);
}

kibi_status kibi_deallocate(kibi_arena *arena, int32_t address)
{
    if (arena == NULL || arena->kind == NULL) {
        return fail(arena, KIBI_ERROR_NOT_INITIALIZED);
    }
    return address == KIBI_NO_ADDRESS ? KIBI_OK : arena->kind->deallocate(arena, address);
}

uint32_t kibi_available(const kibi_arena *arena)
{
    return arena == NULL || arena->kind == NULL ? 0 : arena->kind->available(arena);
}

kibi_status kibi_allocate_handle(kibi_arena *arena, uint32_t bytes, kibi_handle *handle)
{
    int32_t address;
    if (arena == NULL || handle == NULL || handle->data != NULL) {
        return fail(arena, handle == NULL ? KIBI_ERROR_NULL : KIBI_ERROR_BINDING);
    }
    address = kibi_allocate(arena, bytes);
    return address == KIBI_NO_ADDRESS ? KIBI_ERROR_MEMORY : kibi_bind(arena, address, handle);
}

kibi_status kibi_free(kibi_arena *arena, kibi_handle *handle)
{
    return kibi_deallocate(arena, kibi_address(arena, handle));
}

int kibi_contains(const kibi_arena *arena, int32_t address)
{
    return kibi_block_at(arena, address) != NULL;
}

kibi_status kibi_bind(kibi_arena *arena, int32_t address, kibi_handle *handle)
{
    kibi_block *const block = kibi_block_at(arena, address);
    if (block == NULL) {
        if (arena == NULL || (uint32_t)address >= arena->bytes) {
            return fail(arena, KIBI_ERROR_BOUNDS);
        }
        /* As uTensor reports it: no header, so that nothing is bound, so that binding fails. */
        (void)fail(arena, KIBI_ERROR_NO_BLOCK);
        (void)fail(arena, KIBI_ERROR_UNALLOCATED);
    }
    if (block == NULL || block->handle != NULL || handle == NULL || handle->data != NULL) {
        return fail(arena, KIBI_ERROR_BINDING);
    }
    block->handle = handle;
    handle->data = arena->memory + address;
    handle->pins = 0;
    return KIBI_OK;
}

kibi_status kibi_unbind(kibi_arena *arena, int32_t address, kibi_handle *handle)
{
    kibi_block *block;
    const kibi_status status = kibi_find_block(arena, address, &block);
    if (status != KIBI_OK) {
        return status;
    }
    if (handle == NULL || block->handle != handle) {
        return fail(arena, KIBI_ERROR_BINDING);
    }
    if (handle->pins != 0) {
        return fail(arena, KIBI_ERROR_PINNED);
    }
    block->handle = NULL;
    handle->data = NULL;
    return KIBI_OK;
}

int kibi_is_bound(kibi_arena *arena, int32_t address, const kibi_handle *handle)
{
    kibi_block *block;
    if (kibi_find_block(arena, address, &block) != KIBI_OK) {
        return 0;
    }
    return block->handle != NULL && (handle == NULL || block->handle == handle);
}

int32_t kibi_address(const kibi_arena *arena, const kibi_handle *handle)
{
    const kibi_block *const block = block_of(arena, handle);
    return block == NULL ? KIBI_NO_ADDRESS : (int32_t)block->offset;
}

void *kibi_pin(kibi_arena *arena, kibi_handle *handle)
{
    if (block_of(arena, handle) == NULL) {
        (void)fail(arena, KIBI_ERROR_BINDING);
        return NULL;
    }
    ++handle->pins;
    return handle->data;
}

kibi_status kibi_unpin(kibi_arena *arena, kibi_handle *handle)
{
    if (block_of(arena, handle) == NULL || handle->pins == 0) {
        return fail(arena, KIBI_ERROR_BINDING);
    }
    --handle->pins;
    return KIBI_OK;
}
