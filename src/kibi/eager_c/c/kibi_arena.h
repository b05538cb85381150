/* Arenas: who hands out the caller's bytes, the blocks in them, and the handles that follow blocks when these move.
 *
 * An address is the distance in bytes from an arena's first byte, so that 0 is an address. A new block belongs to nobody until it
 * is bound to a handle. After uTensor's allocators, TVM's and TensorFlow Lite Micro's; the same in Python. */
#ifndef KIBI_ARENA_H
#define KIBI_ARENA_H

#include "kibi_handler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a size and of an offset in a block's header: 2, for arenas of up to 65,536 bytes with blocks of up to 32,767; or 4. */
#ifndef KIBI_HEADER_BYTES
#define KIBI_HEADER_BYTES 2
#endif
#if KIBI_HEADER_BYTES == 2
typedef uint16_t kibi_extent;
#define KIBI_LARGEST_BLOCK 0x7FFFu
#define KIBI_LARGEST_ARENA 0x10000u
#elif KIBI_HEADER_BYTES == 4
typedef uint32_t kibi_extent;
#define KIBI_LARGEST_BLOCK 0x7FFFFFFFu
#define KIBI_LARGEST_ARENA 0x7FFFFFFFu
#else
#error "KIBI_HEADER_BYTES is 2 or 4"
#endif

/* The address of no block. */
#define KIBI_NO_ADDRESS (-1)

/* The one name of a block that its arena may move. It is unique: a copy of it is refused. It begins as zeros. */
typedef struct {
    uint8_t *data; /* where the block is at present; NULL: the handle has none. It stays there while it is pinned */
    uint32_t pins;
} kibi_handle;

/* The header of a block. */
typedef struct {
    kibi_extent offset;
    kibi_extent size;
    kibi_handle *handle; /* whom it belongs to; NULL: nobody */
} kibi_block;

struct kibi_arena;

/* What the kinds of arenas do differently. */
typedef struct {
    int32_t (*allocate)(struct kibi_arena *arena, uint32_t bytes);
    kibi_status (*deallocate)(struct kibi_arena *arena, int32_t address);
    uint32_t (*available)(const struct kibi_arena *arena);
} kibi_arena_kind;

/* What all arenas have. Its headers are in a table of the caller's, ascending by offset. No field is for the caller's use. */
typedef struct kibi_arena {
    const kibi_arena_kind *kind;
    uint8_t *memory;
    kibi_block *blocks;
    kibi_handler *handler;
    uint32_t bytes;
    uint16_t capacity; /* of the table */
    uint16_t count;    /* live blocks */
    uint32_t alignment;
} kibi_arena;

/* The caller's memory for an arena: `bytes` bytes, that start at a multiple of the alignment, and a table for the headers of as
 * many blocks as live at once. */
typedef struct {
    void *memory;
    uint32_t bytes;
    kibi_block *blocks;
    uint16_t block_count;
    uint16_t alignment; /* blocks start at a multiple of it: a power of two */
} kibi_arena_memory;

/* Returns the address of a new block that belongs to nobody yet; KIBI_NO_ADDRESS after a report where there is no room. */
int32_t kibi_allocate(kibi_arena *arena, uint32_t bytes);

/* Allocates a block and binds it to a handle that has none. */
kibi_status kibi_allocate_handle(kibi_arena *arena, uint32_t bytes, kibi_handle *handle);

/* Frees the block at an address; its handle has none then. Does nothing for KIBI_NO_ADDRESS.
 * KIBI_ERROR_BOUNDS, KIBI_ERROR_NO_BLOCK: there is no block. KIBI_ERROR_PINNED: it is in use. */
kibi_status kibi_deallocate(kibi_arena *arena, int32_t address);

/* Frees the block of a handle, if it has one in this arena. */
kibi_status kibi_free(kibi_arena *arena, kibi_handle *handle);

/* Bytes that no block holds; of a linear arena and a workspace the largest block that can be had. */
uint32_t kibi_available(const kibi_arena *arena);

/* Whether a live block starts at an address. Another block may start there by now: only a handle knows its own. */
int kibi_contains(const kibi_arena *arena, int32_t address);

/* Gives the block at an address to a handle, which follows it from then on.
 * KIBI_ERROR_BOUNDS: the address is outside of the arena. KIBI_ERROR_BINDING: nothing is allocated there, or the block or the
 * handle is bound already. */
kibi_status kibi_bind(kibi_arena *arena, int32_t address, kibi_handle *handle);

/* Unbinds the block at an address from its handle; the block stays.
 * KIBI_ERROR_BOUNDS, KIBI_ERROR_NO_BLOCK: there is none. KIBI_ERROR_BINDING: it is not this handle's. KIBI_ERROR_PINNED. */
kibi_status kibi_unbind(kibi_arena *arena, int32_t address, kibi_handle *handle);

/* Whether the block at an address is bound to this handle; NULL: to any. Reports where there is no block. */
int kibi_is_bound(kibi_arena *arena, int32_t address, const kibi_handle *handle);

/* The address of a handle's block; KIBI_NO_ADDRESS where it has none here. */
int32_t kibi_address(const kibi_arena *arena, const kibi_handle *handle);

/* Pins a handle's block: it does not move, and is not freed, until as many calls of kibi_unpin. Returns where its bytes are;
 * NULL after a report where the handle has no block here. */
void *kibi_pin(kibi_arena *arena, kibi_handle *handle);

/* Ends a pin. KIBI_ERROR_BINDING: there is none. */
kibi_status kibi_unpin(kibi_arena *arena, kibi_handle *handle);

/* For those who write an arena of their own. */

/* Checks the caller's memory, and begins an arena in it. */
kibi_status kibi_arena_init(kibi_arena *arena, const kibi_arena_kind *kind, const kibi_arena_memory *memory,
                            kibi_handler *handler);

/* The block that starts at an address; NULL where none does. */
kibi_block *kibi_block_at(const kibi_arena *arena, int32_t address);

/* The same, with a report where none does. */
kibi_status kibi_find_block(kibi_arena *arena, int32_t address, kibi_block **found);

/* Adds a block to the table, which has room for it; returns its address. */
int32_t kibi_place(kibi_arena *arena, uint32_t address, uint32_t bytes);

/* Takes a block that is not pinned out of the table; its handle has none then. */
void kibi_release(kibi_arena *arena, kibi_block *block);

/* Frees a block as most arenas do. */
kibi_status kibi_deallocate_one(kibi_arena *arena, int32_t address);

/* Whether a request can be served at all: reports KIBI_ERROR_ARGUMENT for no bytes, KIBI_ERROR_MEMORY for too many. */
int kibi_can_place(kibi_arena *arena, uint32_t bytes);

/* The next multiple of the alignment, a power of two. */
static inline uint32_t kibi_align_up(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

#ifdef __cplusplus
}
#endif

#endif
