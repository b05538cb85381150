/* What poolings of bytes share that compute four channels at once. */
#ifndef KIBI_POOL_ROWS_S8_H
#define KIBI_POOL_ROWS_S8_H

#include "kibi_pool2d.h"

#include "kibi_largest4.h"

/* The pointers of a window's rows that are inside the input: they are neighbours. */
typedef struct {
    const int8_t *const *first;
    const int8_t *const *end;
} kibi_pool_rows;

/* rows: `count` pointers, of which at least one is not null. */
static inline kibi_pool_rows kibi_rows_inside(const int8_t *const *rows, int32_t count)
{
    kibi_pool_rows inside = {rows, rows + count};
    while (*inside.first == NULL) {
        ++inside.first;
    }
    while (inside.end[-1] == NULL) {
        --inside.end;
    }
    return inside;
}

/* The columns of window `x` that are inside the input: the first, and how many. */
static inline int32_t kibi_columns_inside(int32_t x, const kibi_pool_accumulate_params *p, int32_t *first)
{
    const int32_t start = x * p->stride - p->pad;
    const int32_t end = start + p->kernel_width;
    *first = start > 0 ? start : 0;
    return (end < p->input_width ? end : p->input_width) - *first;
}

/* The bounds of an activation, four times each. */
typedef struct {
    uint32_t low;
    uint32_t high;
} kibi_byte_range;

static inline kibi_byte_range kibi_range_of_bytes(int32_t low, int32_t high)
{
    const kibi_byte_range range = {(uint8_t)low * 0x01010101u, (uint8_t)high * 0x01010101u};
    return range;
}

/* Four bytes, each cut to the range; the upper bound wins where the range is empty. */
static inline uint32_t kibi_cut4(uint32_t bytes, const kibi_byte_range *range)
{
    const uint32_t raised = kibi_largest4(bytes, range->low);
    uint32_t cut;
    __asm__("ssub8 %0, %1, %2\n\t"
            "sel %0, %2, %1"
            : "=&r"(cut)
            : "r"(range->high), "r"(raised)
            : "cc");
    return cut;
}

#endif
