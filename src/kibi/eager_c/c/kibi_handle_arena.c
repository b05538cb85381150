/* The arena with movable blocks. A rebalance is tried in the table alone, by new offsets of bound blocks, whose handles still know
 * the old ones: so nothing moves before it helps, and no memory is needed besides. */
#include "kibi_handle_arena.h"

#include <string.h>

/* What a rebalance heeds. */
enum { KEEP_UNBOUND = 1, HEED_PINS = 2 };

/* Whether a block stays where it is. */
static int is_fixed(const kibi_block *block, unsigned rules)
{
    return block->handle == NULL ? (rules & KEEP_UNBOUND) != 0 : (rules & HEED_PINS) != 0 && block->handle->pins != 0;
}

/* The lowest aligned address of so many bytes that are free of blocks that stay, and of the first `placed` blocks. */
static uint32_t lowest(const kibi_arena *arena, uint32_t bytes, unsigned placed, unsigned rules)
{
    uint32_t at = 0;
    for (unsigned i = 0; i < arena->count; ++i) {
        const kibi_block *const block = arena->blocks + i;
        const uint32_t end = (uint32_t)block->offset + block->size;
        if (at < end && block->offset < at + bytes && ((i < placed && block->handle != NULL) || is_fixed(block, rules))) {
            at = kibi_align_up(end, arena->alignment);
            i = (unsigned)-1; /* blocks that were placed may be in any order */
        }
    }
    return at;
}

static uint32_t offset_of(const kibi_arena *arena, const kibi_block *block)
{
    return (uint32_t)(block->handle->data - arena->memory);
}

/* Gives every bound block that may move the lowest offset that it can have; returns whether so many bytes are free then, from
 * *address on. Nothing has moved yet. */
static int try_rebalance(kibi_arena *arena, uint32_t bytes, unsigned rules, uint32_t *address)
{
    for (unsigned i = 0; i < arena->count; ++i) {
        kibi_block *const block = arena->blocks + i;
        if (block->handle != NULL && !is_fixed(block, rules)) {
            const uint32_t at = lowest(arena, block->size, i, rules);
            if (at < block->offset) {
                block->offset = (kibi_extent)at;
            }
        }
    }
    *address = lowest(arena, bytes, arena->count, rules);
    return *address + bytes <= arena->bytes;
}

/* Forgets a trial. */
static void restore(kibi_arena *arena)
{
    for (unsigned i = 0; i < arena->count; ++i) {
        kibi_block *const block = arena->blocks + i;
        if (block->handle != NULL) {
            block->offset = (kibi_extent)offset_of(arena, block);
        }
    }
}

/* Moves bound blocks to where a trial put them, in the order of their old addresses: each moves down, to bytes that no later one
 * uses. Drops unbound blocks unless they are kept, and sorts the table. */
static void carry_out(kibi_arena *arena, unsigned rules)
{
    kibi_block *const blocks = arena->blocks;
    const unsigned count = arena->count;
    unsigned kept = 0;
    kibi_notify(arena->handler, KIBI_EVENT_ARENA_REBALANCING);
    for (unsigned i = 0; i < count; ++i) {
        const kibi_block block = blocks[i];
        unsigned place;
        if (block.handle != NULL) {
            uint8_t *const to = arena->memory + block.offset;
            memmove(to, block.handle->data, block.size);
            block.handle->data = to;
        } else if ((rules & KEEP_UNBOUND) == 0) {
            continue;
        }
        for (place = kept++; place > 0 && blocks[place - 1].offset > block.offset; --place) {
            blocks[place] = blocks[place - 1];
        }
        blocks[place] = block;
    }
    arena->count = (uint16_t)kept;
}

static int32_t allocate(kibi_arena *arena, uint32_t bytes)
{
    uint32_t address;
    if (!kibi_can_place(arena, bytes)) {
        return KIBI_NO_ADDRESS;
    }
    address = lowest(arena, bytes, arena->count, KEEP_UNBOUND);
    if (address + bytes <= arena->bytes) {
        return kibi_place(arena, address, bytes);
    }
    for (unsigned rules = KEEP_UNBOUND | HEED_PINS; rules >= HEED_PINS; --rules) {
        if (try_rebalance(arena, bytes, rules, &address)) {
            carry_out(arena, rules);
            return kibi_place(arena, address, bytes);
        }
        restore(arena);
    }
    if (try_rebalance(arena, bytes, 0, &address)) {
        kibi_notify(arena->handler, KIBI_EVENT_REBALANCE_HELD_BY_PINS);
    }
    restore(arena);
    (void)kibi_fail(arena->handler, KIBI_ERROR_MEMORY);
    return KIBI_NO_ADDRESS;
}

static uint32_t available(const kibi_arena *arena)
{
    uint32_t bytes = arena->bytes;
    for (unsigned i = 0; i < arena->count; ++i) {
        bytes -= arena->blocks[i].size;
    }
    return bytes;
}

kibi_status kibi_handle_arena_init(kibi_arena *arena, const kibi_arena_memory *memory, kibi_handler *handler)
{
    static const kibi_arena_kind kind = {allocate, kibi_deallocate_one, available};
    return kibi_arena_init(arena, &kind, memory, handler);
}

int kibi_rebalance(kibi_arena *arena)
{
    unsigned gaps = 0;
    uint32_t end = 0;
    if (arena == NULL) {
        return 0;
    }
    (void)try_rebalance(arena, 0, HEED_PINS, &end);
    carry_out(arena, HEED_PINS);
    end = 0;
    for (unsigned i = 0; i <= arena->count; ++i) {
        const kibi_block *const block = arena->blocks + i;
        gaps += (i < arena->count ? block->offset : arena->bytes) > end;
        if (i < arena->count) {
            end = (uint32_t)block->offset + block->size;
        }
    }
    if (gaps > 1) {
        kibi_notify(arena->handler, KIBI_EVENT_REBALANCE_HELD_BY_PINS);
    }
    return gaps <= 1;
}
