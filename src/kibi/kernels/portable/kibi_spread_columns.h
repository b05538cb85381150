/* Transposed convolutions: the columns of an input whose windows on the output meet one of its columns, and sums of products. */
#ifndef KIBI_SPREAD_COLUMNS_H
#define KIBI_SPREAD_COLUMNS_H

#include "kibi.h"

typedef struct {
    int32_t first;
    int32_t end; /* after the last */
} kibi_spread_columns;

/* Of columns 0 … input_width - 1, those ix with 0 <= place - ix * stride < kernel_width.
 * place: 0 or more. */
static inline kibi_spread_columns kibi_find_spread_columns(int32_t place, int32_t kernel_width, int32_t stride,
                                                           int32_t input_width)
{
    kibi_spread_columns found;
    found.first = place < kernel_width ? 0 : (place - kernel_width) / stride + 1;
    found.end = place / stride + 1;
    if (found.end > input_width) {
        found.end = input_width;
    }
    return found;
}

/* A sum, plus the products of `count` weights and elements less their zero point; it wraps. */
static inline uint32_t kibi_add_products_s8(uint32_t sum, const int8_t *w, const int8_t *x, int32_t zero_point, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        sum += (uint32_t)(w[i] * (x[i] - zero_point));
    }
    return sum;
}

#endif
