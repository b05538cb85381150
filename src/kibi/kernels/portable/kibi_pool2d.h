/* AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D: each kernel computes one output row, at once or row of the window by row. */
#ifndef KIBI_POOL2D_H
#define KIBI_POOL2D_H

#include "kibi.h"

typedef struct {
    int32_t input_width;
    int32_t channels;
    int32_t output_width;
    int32_t kernel_rows;  /* rows of a window */
    int32_t kernel_width; /* columns of a window, which covers at most 65535 elements */
    int32_t stride;       /* columns from window to window; the rows' stride is in the pointers */
    int32_t pad;          /* columns of padding before the first column */
    float activation_min;
    float activation_max;
} kibi_pool_f32_params;

/* Each of the following:
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * elements are written in order, and a channel of a window is read right before it is written.
 * rows: kernel_rows pointers to [input_width][channels]; null for a row outside the input, but not for all of them.
 * scratch: none. */

/* AVERAGE_POOL_2D of floats: one output row. */
void kibi_average_pool2d_f32(float *output, const float *const *rows, const kibi_pool_f32_params *params,
                             void *scratch);

/* L2_POOL_2D of floats: one output row. */
void kibi_l2_pool2d_f32(float *output, const float *const *rows, const kibi_pool_f32_params *params, void *scratch);

/* MAX_POOL_2D of floats: one output row. */
void kibi_max_pool2d_f32(float *output, const float *const *rows, const kibi_pool_f32_params *params, void *scratch);

typedef struct {
    int32_t input_width;
    int32_t channels;
    int32_t output_width;
    int32_t steps;        /* input rows that the windows cover, without padding */
    int32_t kernel_width; /* columns of a window, which covers at most 65535 elements */
    int32_t stride;       /* columns from window to window; the rows' stride is in the pointers */
    int32_t pad;          /* columns of padding before the first column */
    float activation_min;
    float activation_max;
} kibi_pool_f32_accumulate_params;

/* Each of the following:
 * output: [output_width][channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [input_width][channels], the row `step` of those under the windows.
 * scratch: 4 * output_width * channels bytes, aligned as float; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */

/* AVERAGE_POOL_2D of floats with one output row: row after row of the input is added up; the last call writes the output. */
void kibi_average_pool2d_f32_accumulate(float *output, const float *const *rows,
                                        const kibi_pool_f32_accumulate_params *params, void *scratch, int32_t step);

/* MAX_POOL_2D of floats with one output row: maxima grow row after row of the input; the last call writes the output. */
void kibi_max_pool2d_f32_accumulate(float *output, const float *const *rows,
                                    const kibi_pool_f32_accumulate_params *params, void *scratch, int32_t step);

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
} kibi_pool_params;

/* Each of the following:
 * output: [output_width][channels]; may overlap an input row where no element is written over one that is still read:
 * elements are written in order, and a channel of a window is read right before it is written.
 * rows: kernel_rows pointers to [input_width][channels]; null for a row outside the input, but not for all of them.
 * scratch: none. */

/* AVERAGE_POOL_2D of 16-bit elements: one output row. */
void kibi_average_pool2d_s16(int16_t *output, const int16_t *const *rows, const kibi_pool_params *params,
                             void *scratch);

/* AVERAGE_POOL_2D: one output row. */
void kibi_average_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_pool_params *params, void *scratch);

/* MAX_POOL_2D of 16-bit elements: one output row. */
void kibi_max_pool2d_s16(int16_t *output, const int16_t *const *rows, const kibi_pool_params *params, void *scratch);

/* MAX_POOL_2D: one output row. */
void kibi_max_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_pool_params *params, void *scratch);

typedef struct {
    int32_t input_width;
    int32_t channels;
    int32_t output_width;
    int32_t steps;        /* input rows that the windows cover, without padding */
    int32_t kernel_width; /* columns of a window, which covers at most 65535 elements */
    int32_t stride;       /* columns from window to window; the rows' stride is in the pointers */
    int32_t pad;          /* columns of padding before the first column */
    int32_t activation_min;
    int32_t activation_max;
} kibi_pool_accumulate_params;

/* Each of the following:
 * output: [output_width][channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [input_width][channels], the row `step` of those under the windows.
 * scratch: 4 * output_width * channels bytes, aligned as int32_t; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */

/* AVERAGE_POOL_2D of 16-bit elements with one output row: row after row of the input is added up; the last call writes the output. */
void kibi_average_pool2d_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                        const kibi_pool_accumulate_params *params, void *scratch, int32_t step);

/* AVERAGE_POOL_2D with one output row: row after row of the input is added up; the last call writes the output. */
void kibi_average_pool2d_s8_accumulate(int8_t *output, const int8_t *const *rows,
                                       const kibi_pool_accumulate_params *params, void *scratch, int32_t step);

/* The same where a window covers at most 256 elements, whose sums fit 16 bits.
 * scratch: 2 * output_width * channels bytes, aligned as int16_t. */
void kibi_average_pool2d_s8_accumulate_small(int8_t *output, const int8_t *const *rows,
                                             const kibi_pool_accumulate_params *params, void *scratch, int32_t step);

/* MAX_POOL_2D of 16-bit elements with one output row: maxima grow row after row of the input; the last call writes the output.
 * output: [output_width][channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [input_width][channels], the row `step` of those under the windows.
 * scratch: 2 * output_width * channels bytes, aligned as int16_t; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */
void kibi_max_pool2d_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                    const kibi_pool_accumulate_params *params, void *scratch, int32_t step);

/* MAX_POOL_2D with one output row: maxima grow row after row of the input; the last call writes the output.
 * output: [output_width][channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [input_width][channels], the row `step` of those under the windows.
 * scratch: output_width * channels bytes; it keeps its contents from the first call to the last.
 * step: 0 … steps - 1, ascending. */
void kibi_max_pool2d_s8_accumulate(int8_t *output, const int8_t *const *rows, const kibi_pool_accumulate_params *params,
                                   void *scratch, int32_t step);

#endif
