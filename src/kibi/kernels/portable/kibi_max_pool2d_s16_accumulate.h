/* MAX_POOL_2D of 16-bit elements with one output row: maxima grow row after row of the input; the last call writes the output. */
#ifndef KIBI_MAX_POOL2D_S16_ACCUMULATE_H
#define KIBI_MAX_POOL2D_S16_ACCUMULATE_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t input_width;
    int32_t channels;
    int32_t output_width;
    int32_t steps;        /* input rows that the windows cover, without padding */
    int32_t kernel_width; /* columns of a window, which covers at most 65535 elements */
    int32_t stride;       /* columns from window to window */
    int32_t pad;          /* columns of padding before the first column */
    int32_t activation_min;
    int32_t activation_max;
} kibi_max_pool2d_s16_accumulate_params;

/* output: [output_width][channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [input_width][channels], the row `step` of those under the windows.
 * scratch: 2 * output_width * channels bytes, aligned as int16_t; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */
void kibi_max_pool2d_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                    const kibi_max_pool2d_s16_accumulate_params *params, void *scratch, int32_t step);

#ifdef __cplusplus
}
#endif

#endif
