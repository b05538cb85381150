/* AVERAGE_POOL_2D: one output row. */
#ifndef KIBI_AVERAGE_POOL2D_S8_H
#define KIBI_AVERAGE_POOL2D_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t input_width;
    int32_t channels;
    int32_t output_width;
    int32_t kernel_rows;  /* rows of a window */
    int32_t kernel_width; /* columns of a window, which covers at most 65535 elements */
    int32_t stride;       /* columns from window to window; the rows' stride is in the pointers */
    int32_t pad;          /* columns of padding before the first column */
    int32_t activation_min;
    int32_t activation_max;
} kibi_average_pool2d_s8_params;

/* output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * elements are written in order, and a channel of a window is read right before it is written.
 * rows: kernel_rows pointers to [input_width][channels]; null for a row outside the input, but not for all of them.
 * scratch: none. */
void kibi_average_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_average_pool2d_s8_params *params,
                            void *scratch);

#ifdef __cplusplus
}
#endif

#endif
