/* Blocks of whole pages. */
#include "kibi_page_allocator.h"

#include <string.h>

/* Bytes of the pages that hold so many. */
static uint32_t paged(const kibi_page_allocator *pages, uint32_t bytes)
{
    return (bytes + pages->page_bytes - 1) / pages->page_bytes * pages->page_bytes;
}

/* The run of free bytes before block `number`, which may be one after the last one; block `left_out` counts as free. */
static uint32_t run_before(const kibi_page_allocator *pages, unsigned number, const kibi_block *left_out, uint32_t *start)
{
    const kibi_arena *const arena = &pages->base;
    const kibi_block *before = arena->blocks + number;
    const uint32_t end = number < arena->count ? before->offset : arena->bytes / pages->page_bytes * pages->page_bytes;
    *start = 0;
    while (before-- > arena->blocks) {
        if (before != left_out) {
            *start = before->offset + paged(pages, before->size);
            break;
        }
    }
    return end - *start;
}

/* The lowest of the shortest runs of pages that hold so many bytes; KIBI_NO_ADDRESS where none does. */
static int32_t best_fit(const kibi_page_allocator *pages, uint32_t bytes, const kibi_block *left_out)
{
    const kibi_arena *const arena = &pages->base;
    uint32_t shortest = 0xFFFFFFFFu;
    int32_t best = KIBI_NO_ADDRESS;
    for (unsigned i = 0; i <= arena->count; ++i) {
        if (arena->blocks + i != left_out || left_out == NULL) {
            uint32_t start;
            const uint32_t run = run_before(pages, i, left_out, &start);
            if (run >= bytes && run < shortest) {
                shortest = run;
                best = (int32_t)start;
            }
        }
    }
    return best;
}

static int32_t refuse(kibi_arena *arena, kibi_status status)
{
    (void)kibi_fail(arena->handler, status);
    return KIBI_NO_ADDRESS;
}

static int32_t allocate(kibi_arena *arena, uint32_t bytes)
{
    const kibi_page_allocator *const pages = (const kibi_page_allocator *)(void *)arena;
    int32_t address;
    if (!kibi_can_place(arena, bytes)) {
        return KIBI_NO_ADDRESS;
    }
    address = best_fit(pages, bytes, NULL);
    return address == KIBI_NO_ADDRESS ? refuse(arena, KIBI_ERROR_MEMORY) : kibi_place(arena, (uint32_t)address, bytes);
}

static uint32_t available(const kibi_arena *arena)
{
    const kibi_page_allocator *const pages = (const kibi_page_allocator *)(const void *)arena;
    uint32_t bytes = 0;
    for (unsigned i = 0; i <= arena->count; ++i) {
        uint32_t start;
        bytes += run_before(pages, i, NULL, &start);
    }
    return bytes;
}

kibi_status kibi_page_allocator_init(kibi_page_allocator *pages, const kibi_arena_memory *memory, uint32_t page_bytes,
                                     kibi_handler *handler)
{
    static const kibi_arena_kind kind = {allocate, kibi_deallocate_one, available};
    if (pages == NULL || memory == NULL) {
        return kibi_fail(handler, KIBI_ERROR_NULL);
    }
    if (page_bytes == 0 || page_bytes > memory->bytes || (page_bytes & ((uint32_t)memory->alignment - 1)) != 0) {
        return kibi_fail(handler, KIBI_ERROR_ARGUMENT);
    }
    pages->page_bytes = page_bytes;
    return kibi_arena_init(&pages->base, &kind, memory, handler);
}

int32_t kibi_reallocate(kibi_page_allocator *pages, int32_t address, uint32_t bytes)
{
    kibi_arena *const arena = (kibi_arena *)(void *)pages;
    kibi_block *block;
    kibi_block changed;
    uint32_t start;
    uint32_t run;
    int32_t to;
    if (pages == NULL) {
        return KIBI_NO_ADDRESS;
    }
    if (address == KIBI_NO_ADDRESS) {
        return allocate(arena, bytes);
    }
    if (kibi_find_block(arena, address, &block) != KIBI_OK) {
        return KIBI_NO_ADDRESS;
    }
    if (bytes == 0) {
        return refuse(arena, KIBI_ERROR_ARGUMENT);
    }
    if (bytes > KIBI_LARGEST_BLOCK || bytes > arena->bytes) {
        return refuse(arena, KIBI_ERROR_MEMORY);
    }
    if (block->handle != NULL && block->handle->pins != 0) {
        return refuse(arena, KIBI_ERROR_PINNED);
    }
    run = run_before(pages, (unsigned)(block - arena->blocks) + 1, block, &start);
    to = (uint32_t)address + paged(pages, bytes) <= start + run ? address : best_fit(pages, bytes, block);
    if (to == KIBI_NO_ADDRESS) {
        return refuse(arena, KIBI_ERROR_MEMORY);
    }
    changed = *block;
    memmove(arena->memory + to, arena->memory + address, changed.size < bytes ? changed.size : bytes);
    block->handle = NULL;
    kibi_release(arena, block);
    (void)kibi_place(arena, (uint32_t)to, bytes);
    if (changed.handle != NULL) {
        changed.handle->data = arena->memory + to;
        kibi_block_at(arena, to)->handle = changed.handle;
    }
    return to;
}
