/* The columns of a convolution's window that are inside the input. */
#ifndef KIBI_WINDOW_COLUMNS_H
#define KIBI_WINDOW_COLUMNS_H

#include "kibi.h"

/* The place of the first column inside, in its row and among the weights; the number of runs of neighbours, and the distance from
 * one to the next. All in elements. */
typedef struct {
    int32_t place;
    int32_t weight;
    int32_t runs;
    int32_t run;
    int32_t step;
} kibi_window_columns;

/* The columns `start` + k * `dilation`, 0 <= k < `kernel_width`, of an input of `input_width` columns.
 * channels: elements of a column. depth: those of one group, which are read; weights have as many in a column. */
static inline kibi_window_columns kibi_find_columns(int32_t start, int32_t kernel_width, int32_t dilation,
                                                    int32_t input_width, int32_t channels, int32_t depth)
{
    int32_t first = 0;
    int32_t end = kernel_width;
    kibi_window_columns found;
    while (first < end && start + first * dilation < 0) {
        ++first;
    }
    while (end > first && start + (end - 1) * dilation >= input_width) {
        --end;
    }
    found.place = first < end ? (start + first * dilation) * channels : 0;
    found.weight = first * depth;
    found.step = dilation * channels;
    found.runs = end - first;
    found.run = depth;
    if (dilation == 1 && depth == channels && end > first) {
        found.run = found.runs * depth;
        found.runs = 1;
    }
    return found;
}

#endif
