/* CONV_2D, float, for processors with vectors. Source of the rule: TFLM, reference/conv.h, Conv. */
#include "kibi_conv2d_f32_lanes.h"

#include <string.h>

#include "kibi_lanes_f32.h"

#define MOST_SUMS (KIBI_MOST_PIXELS * KIBI_MOST_BLOCKS * KIBI_FLOAT_VECTORS)

typedef kibi_conv2d_f32_lanes_params params_type;

/* Where a window's elements are in the copied columns. */
typedef struct {
    int32_t row;    /* from one row of a window to the next */
    int32_t column; /* from one run of a row to the next */
    int32_t pixel;  /* from one window to the next */
    int32_t runs;   /* of a row */
    int32_t run;    /* elements of a run */
} geometry;

/* Computes some blocks of channels of some pixels, both known to the compiler; products are added in the order of elements. */
static KIBI_INLINE void compute_blocks(float *output, const params_type *p, int32_t pixels, int32_t blocks, const float *x,
                                       const geometry *g, int32_t channel)
{
    const int32_t vectors = blocks * KIBI_FLOAT_VECTORS;
    const int32_t elements = p->kernel_rows * g->runs * g->run;
    const float *w = KIBI_AT(float, p, filter) + channel * elements;
    kibi_floats total[MOST_SUMS];
    memset(total, 0, (size_t)(pixels * vectors) * sizeof total[0]);
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        for (int32_t run = 0; run < g->runs; ++run) {
            const float *place = x + ky * g->row + run * g->column;
            for (int32_t k = 0; k < g->run; ++k) {
                kibi_floats weights[KIBI_MOST_BLOCKS * KIBI_FLOAT_VECTORS];
                KIBI_UNROLL
                for (int32_t v = 0; v < vectors; ++v) {
                    weights[v] = kibi_load_floats(w + v / KIBI_FLOAT_VECTORS * elements * KIBI_BLOCK +
                                                  v % KIBI_FLOAT_VECTORS * KIBI_FLOAT_LANES);
                }
                KIBI_UNROLL
                for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                    const float input = place[pixel * g->pixel];
                    KIBI_UNROLL
                    for (int32_t v = 0; v < vectors; ++v) {
                        total[pixel * vectors + v] += weights[v] * input;
                    }
                }
                w += KIBI_BLOCK;
                ++place;
            }
        }
    }
    KIBI_UNROLL
    for (int32_t i = 0; i < pixels * blocks; ++i) {
        const int32_t first = channel + i % blocks * KIBI_BLOCK;
        kibi_finish_floats(output + i / blocks * p->output_channels + first, total + i * KIBI_FLOAT_VECTORS,
                           KIBI_AT(float, p, bias) + first, p->activation_min, p->activation_max, p->output_channels - first);
    }
}

/* Computes all channels of some pixels from the first one's window. */
static KIBI_INLINE void compute(float *output, const params_type *p, int32_t pixels, const float *x, const geometry *g)
{
    int32_t channel = 0;
    for (; channel + (KIBI_MOST_BLOCKS - 1) * KIBI_BLOCK < p->output_channels; channel += KIBI_MOST_BLOCKS * KIBI_BLOCK) {
        compute_blocks(output, p, pixels, KIBI_MOST_BLOCKS, x, g, channel);
    }
#if KIBI_MOST_BLOCKS > 1
    for (; channel + KIBI_BLOCK < p->output_channels; channel += 2 * KIBI_BLOCK) {
        compute_blocks(output, p, pixels, 2, x, g, channel);
    }
    if (channel < p->output_channels) {
        compute_blocks(output, p, pixels, 1, x, g, channel);
    }
#endif
}

/* The same of any number of pixels up to KIBI_MOST_PIXELS. */
static void compute_pixels(float *output, const params_type *p, int32_t pixels, const float *x, const geometry *g)
{
    switch (pixels) {
#if KIBI_MOST_PIXELS > 5
    case 6:
        compute(output, p, 6, x, g);
        break;
#endif
#if KIBI_MOST_PIXELS > 4
    case 5:
        compute(output, p, 5, x, g);
        break;
#endif
#if KIBI_MOST_PIXELS > 2
    case 4:
        compute(output, p, 4, x, g);
        break;
    case 3:
        compute(output, p, 3, x, g);
        break;
#endif
#if KIBI_MOST_PIXELS > 1
    case 2:
        compute(output, p, 2, x, g);
        break;
#endif
    default:
        compute(output, p, 1, x, g);
        break;
    }
}

void kibi_conv2d_f32_lanes(float *output, const float *const *rows, const kibi_conv2d_f32_lanes_params *params,
                           void *scratch)
{
    const params_type *const p = params;
    const int32_t depth = p->input_channels;
    const int32_t span = (p->kernel_width - 1) * p->dilation + 1;
    const int32_t is_whole = p->dilation == 1;
    const int32_t room = (KIBI_COPIED_FLOATS / (p->kernel_rows * depth) - span) / p->stride + 1;
    const int32_t most = room < p->output_width ? room : p->output_width;
    const int32_t columns = (most - 1) * p->stride + span;
    const geometry g = {columns * depth, p->dilation * depth, p->stride * depth, is_whole ? 1 : p->kernel_width,
                        (is_whole ? p->kernel_width : 1) * depth};
    float copy[KIBI_COPIED_FLOATS];
    (void)scratch;
    KIBI_ASSERT(room > 0);
    for (int32_t x = 0; x < p->output_width; x += most) {
        const int32_t end = p->output_width - x < most ? p->output_width - x : most;
        for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
            kibi_copy_columns_f32(copy + ky * g.row, rows[ky], x * p->stride - p->pad, columns, p->input_width, depth);
        }
        for (int32_t i = 0, pixels; i < end; i += pixels) {
            pixels = kibi_next_pixels(end - i);
            compute_pixels(output, p, pixels, copy + i * g.pixel, &g);
            output += pixels * p->output_channels;
        }
    }
}
