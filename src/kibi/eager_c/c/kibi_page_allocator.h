/* Blocks of whole pages: after the page allocator of TVM's C runtime. */
#ifndef KIBI_PAGE_ALLOCATOR_H
#define KIBI_PAGE_ALLOCATOR_H

#include "kibi_arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hands out neighbouring pages: the shortest free run that is long enough, the lowest of equals. Blocks move only in
 * kibi_reallocate. Give &pages.base to functions that take an arena. */
typedef struct {
    kibi_arena base;
    uint32_t page_bytes;
} kibi_page_allocator;

/* page_bytes: a multiple of the alignment. Bytes after the last complete page are not used. */
kibi_status kibi_page_allocator_init(kibi_page_allocator *pages, const kibi_arena_memory *memory, uint32_t page_bytes,
                                     kibi_handler *handler);

/* Makes a block larger or smaller; it keeps its handle and as many of its bytes as fit, and stays where it is if it can.
 * address: KIBI_NO_ADDRESS for a new block. Returns its new address; KIBI_NO_ADDRESS after a report: the block is as it was. */
int32_t kibi_reallocate(kibi_page_allocator *pages, int32_t address, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
