/* The arena with a counter. Blocks are only ever added at the top, so that the table is in the order of allocation, too. */
#include "kibi_workspace.h"

static int32_t allocate(kibi_arena *arena, uint32_t bytes)
{
    kibi_workspace *const workspace = (kibi_workspace *)(void *)arena;
    const uint32_t address = kibi_align_up(workspace->top, arena->alignment);
    if (!kibi_can_place(arena, bytes)) {
        return KIBI_NO_ADDRESS;
    }
    if (address + bytes > arena->bytes) {
        (void)kibi_fail(arena->handler, KIBI_ERROR_MEMORY);
        return KIBI_NO_ADDRESS;
    }
    workspace->top = address + bytes;
    if (workspace->high_water < workspace->top) {
        workspace->high_water = workspace->top;
    }
    return kibi_place(arena, address, bytes);
}

static kibi_status deallocate(kibi_arena *arena, int32_t address)
{
    kibi_workspace *const workspace = (kibi_workspace *)(void *)arena;
    const kibi_block *const block = kibi_block_at(arena, address);
    const kibi_status status = kibi_deallocate_one(arena, address);
    if (status == KIBI_OK) {
        for (kibi_scope *scope = workspace->innermost; scope != NULL; scope = scope->outer) {
            scope->first = (uint16_t)(scope->first - (scope->first > block - arena->blocks));
        }
        if (arena->count == 0) {
            workspace->top = 0;
        }
    }
    return status;
}

static uint32_t available(const kibi_arena *arena)
{
    const uint32_t bottom = kibi_align_up(((const kibi_workspace *)(const void *)arena)->top, arena->alignment);
    return bottom < arena->bytes ? arena->bytes - bottom : 0;
}

kibi_status kibi_workspace_init(kibi_workspace *workspace, const kibi_arena_memory *memory, kibi_handler *handler)
{
    static const kibi_arena_kind kind = {allocate, deallocate, available};
    const kibi_status status = kibi_arena_init((kibi_arena *)(void *)workspace, &kind, memory, handler);
    if (status == KIBI_OK) {
        workspace->top = 0;
        workspace->high_water = 0;
        workspace->innermost = NULL;
    }
    return status;
}

kibi_status kibi_enter(kibi_workspace *workspace, kibi_scope *scope)
{
    if (workspace == NULL || scope == NULL) {
        return workspace == NULL ? KIBI_ERROR_NULL : kibi_fail(workspace->base.handler, KIBI_ERROR_NULL);
    }
    for (const kibi_scope *open = workspace->innermost; open != NULL; open = open->outer) {
        if (open == scope) {
            return kibi_fail(workspace->base.handler, KIBI_ERROR_SCOPE);
        }
    }
    scope->outer = workspace->innermost;
    scope->bottom = workspace->top;
    scope->first = workspace->base.count;
    workspace->innermost = scope;
    return KIBI_OK;
}

kibi_status kibi_leave(kibi_workspace *workspace, kibi_scope *scope)
{
    kibi_arena *const arena = (kibi_arena *)(void *)workspace;
    kibi_scope **link;
    if (workspace == NULL || scope == NULL) {
        return workspace == NULL ? KIBI_ERROR_NULL : kibi_fail(arena->handler, KIBI_ERROR_NULL);
    }
    link = &workspace->innermost;
    while (*link != scope) {
        if (*link == NULL) {
            return kibi_fail(arena->handler, KIBI_ERROR_SCOPE);
        }
        link = &(*link)->outer;
    }
    *link = scope->outer;
    if (link != &workspace->innermost) {
        return kibi_fail(arena->handler, KIBI_ERROR_SCOPE);
    }
    for (unsigned i = scope->first; i < arena->count; ++i) {
        if (arena->blocks[i].handle != NULL && arena->blocks[i].handle->pins != 0) {
            return kibi_fail(arena->handler, KIBI_ERROR_PINNED);
        }
    }
    while (arena->count > scope->first) {
        kibi_release(arena, arena->blocks + arena->count - 1);
    }
    if (workspace->top > scope->bottom) {
        workspace->top = scope->bottom;
    }
    if (arena->count == 0) {
        workspace->top = 0;
    }
    return KIBI_OK;
}
