/* A row of a convolution for processors with vectors, of int8 or of floats. Before it includes this header, a kernel's file defines:
 *   KIBI_ROW_PARAMS   its parameters
 *   KIBI_ROW_ELEMENT  elements of the input and of the output
 *   KIBI_ROW_COPY     copies of the input's elements
 *   KIBI_ROW_ROOM     how many of these there may be
 *   KIBI_ROW_STEP     elements of a channel that are multiplied at once
 * After it, it defines the functions that are declared first here. */
#ifndef KIBI_CONV2D_LANES_H
#define KIBI_CONV2D_LANES_H

#include <string.h>

#include "kibi_lanes.h"

/* Where a window's elements are in the copied columns. */
typedef struct {
    int32_t row;    /* from one row of a window to the next */
    int32_t column; /* from one run of a row to the next */
    int32_t pixel;  /* from one window to the next */
    int32_t runs;   /* of a row */
    int32_t steps;  /* of a run; the last one may be rounded up */
    int32_t channels; /* that are computed, and those of a pixel of the output */
} kibi_window_geometry;

/* Copies some columns of a row from `start` on; those outside the input have the value of padding. */
static inline void kibi_copy_columns(KIBI_ROW_COPY *to, const KIBI_ROW_ELEMENT *row, const KIBI_ROW_PARAMS *p, int32_t start,
                                     int32_t columns);

/* The first row's elements, where they need not be copied; else NULL. */
static inline const KIBI_ROW_COPY *kibi_uncopied(const KIBI_ROW_ELEMENT *output, const KIBI_ROW_ELEMENT *row,
                                                 const KIBI_ROW_PARAMS *p);

/* Computes some blocks of channels, from `channel` on, of some pixels, both known to the compiler. x: the first pixel's window. */
static KIBI_INLINE void kibi_compute_blocks(KIBI_ROW_ELEMENT *output, const KIBI_ROW_PARAMS *p, int32_t pixels, int32_t blocks,
                                            const KIBI_ROW_COPY *x, const kibi_window_geometry *g, int32_t channel);

/* Computes all channels of some pixels, whose number the compiler knows. */
static KIBI_INLINE void kibi_compute_channels(KIBI_ROW_ELEMENT *output, const KIBI_ROW_PARAMS *p, int32_t pixels,
                                              const KIBI_ROW_COPY *x, const kibi_window_geometry *g)
{
    int32_t channel = 0;
    for (; channel + (KIBI_MOST_BLOCKS - 1) * KIBI_BLOCK < g->channels; channel += KIBI_MOST_BLOCKS * KIBI_BLOCK) {
        kibi_compute_blocks(output, p, pixels, KIBI_MOST_BLOCKS, x, g, channel);
    }
#if KIBI_MOST_BLOCKS > 1
    for (; channel + KIBI_BLOCK < g->channels; channel += 2 * KIBI_BLOCK) {
        kibi_compute_blocks(output, p, pixels, 2, x, g, channel);
    }
    if (channel < g->channels) {
        kibi_compute_blocks(output, p, pixels, 1, x, g, channel);
    }
#endif
}

/* The same of any number of pixels up to KIBI_MOST_PIXELS. */
static void kibi_compute_pixels(KIBI_ROW_ELEMENT *output, const KIBI_ROW_PARAMS *p, int32_t pixels, const KIBI_ROW_COPY *x,
                                const kibi_window_geometry *g)
{
    KIBI_WITH_PIXELS(pixels, kibi_compute_channels, output, p, x, g);
}

#if KIBI_MOST_BLOCKS > 1
#define KIBI_MORE_PIXELS (KIBI_MOST_PIXELS * KIBI_MOST_BLOCKS)

/* Computes so many pixels of a layer with one block of channels. */
static KIBI_NOINLINE void kibi_compute_more(KIBI_ROW_ELEMENT *output, const KIBI_ROW_PARAMS *p, const KIBI_ROW_COPY *x,
                                            const kibi_window_geometry *g)
{
    kibi_compute_blocks(output, p, KIBI_MORE_PIXELS, 1, x, g, 0);
}
#endif

/* Computes that many pixels from the first one's window on. */
static inline void kibi_compute_columns(KIBI_ROW_ELEMENT *output, const KIBI_ROW_PARAMS *p, int32_t count, const KIBI_ROW_COPY *x,
                                        const kibi_window_geometry *g)
{
    const int32_t most = kibi_most_pixels(count);
    int32_t i = 0;
#if KIBI_MOST_BLOCKS > 1
    /* One block leaves registers for the sums of more pixels. */
    if (g->channels <= KIBI_BLOCK) {
        for (; count - i >= KIBI_MORE_PIXELS; i += KIBI_MORE_PIXELS) {
            kibi_compute_more(output + i * g->channels, p, x + i * g->pixel, g);
        }
    }
#endif
    for (int32_t pixels; i < count; i += pixels) {
        pixels = kibi_next_pixels(count - i, most);
        kibi_compute_pixels(output + i * g->channels, p, pixels, x + i * g->pixel, g);
    }
}

/* Computes the first `channels` of the row; other arguments as of the kernels. */
static inline void kibi_convolve_row(KIBI_ROW_ELEMENT *output, const KIBI_ROW_ELEMENT *const *rows, const KIBI_ROW_PARAMS *p,
                                     int32_t channels)
{
    const int32_t depth = p->input_channels;
    const int32_t span = (p->kernel_width - 1) * p->dilation + 1;
    const int32_t is_whole = p->dilation == 1;
    const int32_t room = (KIBI_ROW_ROOM / (p->kernel_rows * depth) - span) / p->stride + 1;
    const int32_t most = room < p->output_width ? room : p->output_width;
    const int32_t columns = (most - 1) * p->stride + span;
    const int32_t run = (is_whole ? p->kernel_width : 1) * depth;
    const kibi_window_geometry g = {columns * depth, p->dilation * depth, p->stride * depth, is_whole ? 1 : p->kernel_width,
                                    (run + KIBI_ROW_STEP - 1) / KIBI_ROW_STEP, channels};
    const KIBI_ROW_COPY *const uncopied = kibi_uncopied(output, rows[0], p);
    KIBI_AT_LINE KIBI_ROW_COPY copy[KIBI_ROW_ROOM + KIBI_ROW_STEP - 1];
    KIBI_ASSERT(room > 0);
    if (uncopied != NULL) {
        kibi_compute_columns(output, p, p->output_width, uncopied, &g);
        return;
    }
    /* What the last step reads after the last element is multiplied by 0. */
    memset(copy + p->kernel_rows * g.row, 0, (KIBI_ROW_STEP - 1) * sizeof *copy);
    for (int32_t x = 0; x < p->output_width; x += most) {
        const int32_t end = p->output_width - x < most ? p->output_width - x : most;
        for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
            kibi_copy_columns(copy + ky * g.row, rows[ky], p, x * p->stride - p->pad, columns);
        }
        kibi_compute_columns(output + x * channels, p, end, copy, &g);
    }
}

#endif
