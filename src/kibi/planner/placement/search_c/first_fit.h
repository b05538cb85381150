/* Placing items in an order, each as low as it goes: two ways that give the same offsets. */
#ifndef KIBI_FIRST_FIT_H
#define KIBI_FIRST_FIT_H

#include "placement.h"

/* The least multiple of an alignment from an offset on. */
static inline int64_t kibi_aligned(int64_t offset, int64_t alignment)
{
    const int64_t over = alignment > 1 ? offset % alignment : 0;
    return over ? offset + alignment - over : offset;
}

/* As `kibi_first_fit`: good where an item lives together with few others. */
int64_t kibi_first_fit_sparse(const kibi_problem *problem, const int32_t *order, int64_t *offsets);

#endif
