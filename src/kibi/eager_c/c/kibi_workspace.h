/* The arena with a counter: after the workspace of TVM's micro runtime. */
#ifndef KIBI_WORKSPACE_H
#define KIBI_WORKSPACE_H

#include "kibi_arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stretch of a program at whose end the blocks that it allocated are given back. The caller owns it. */
typedef struct kibi_scope {
    struct kibi_scope *outer;
    uint32_t bottom;
    uint16_t first; /* the first block of the scope in the table */
} kibi_scope;

/* Blocks are a stack: where the last one is freed, all its bytes are free again. Give &workspace.base to functions that take an
 * arena. */
typedef struct {
    kibi_arena base;
    uint32_t top;
    uint32_t high_water; /* the highest that the stack ever was, in bytes */
    kibi_scope *innermost;
} kibi_workspace;

kibi_status kibi_workspace_init(kibi_workspace *workspace, const kibi_arena_memory *memory, kibi_handler *handler);

/* Begins a scope inside those that are open. KIBI_ERROR_SCOPE: it is one of them. */
kibi_status kibi_enter(kibi_workspace *workspace, kibi_scope *scope);

/* Ends a scope: the blocks that were allocated in it are free. KIBI_ERROR_SCOPE: it is not the innermost one. KIBI_ERROR_PINNED:
 * one of its blocks is in use. In both cases it has ended, and its blocks stay until the next outer scope ends. */
kibi_status kibi_leave(kibi_workspace *workspace, kibi_scope *scope);

#ifdef __cplusplus
}
#endif

#endif
