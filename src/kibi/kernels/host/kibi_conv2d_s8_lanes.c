/* CONV_2D, int8, for processors with vectors. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_s8_lanes.h"

#include <string.h>

#include "kibi_lanes.h"
#include "kibi_requantize_lanes.h"

#define BYTES 32768
#define MOST_SUMS (KIBI_MOST_PIXELS * KIBI_MOST_BLOCKS * KIBI_VECTORS)

typedef kibi_conv2d_s8_lanes_params params_type;

/* Where a window's elements are in the copied columns, in bytes. */
typedef struct {
    int32_t row;    /* from one row of a window to the next */
    int32_t column; /* from one run of a row to the next */
    int32_t pixel;  /* from one window to the next */
    int32_t runs;   /* of a row */
    int32_t quads;  /* fours of elements of a run, the last one rounded up */
} geometry;

/* Copies some columns of a row from `start` on; those outside the input hold the zero point. */
static void copy_columns(uint8_t *to, const int8_t *row, const params_type *p, int32_t start, int32_t columns)
{
    const int32_t depth = p->input_channels;
    const int32_t before = start >= 0 ? 0 : -start < columns ? -start : columns;
    const int32_t left = p->input_width - (start + before);
    const int32_t inside = left <= 0 ? 0 : left < columns - before ? left : columns - before;
    const int32_t outside = p->input_zero_point + KIBI_OFFSET;
    memset(to, outside, (size_t)(before * depth));
    to += before * depth;
    kibi_offset_bytes(to, row + (start + before) * depth, inside * depth);
    to += inside * depth;
    memset(to, outside, (size_t)((columns - before - inside) * depth));
}

/* Sums of some blocks of channels for some pixels, both known to the compiler: [pixels][blocks][16]. */
static KIBI_INLINE void add_up(kibi_lanes *total, int32_t pixels, int32_t blocks, const int32_t *bias, const int8_t *w,
                               const uint8_t *x, const geometry *g, int32_t rows)
{
    const int32_t vectors = blocks * KIBI_VECTORS;
    const int32_t block_bytes = rows * g->runs * g->quads * KIBI_BLOCK * KIBI_QUAD;
    KIBI_UNROLL
    for (int32_t i = 0; i < pixels * vectors; ++i) {
        total[i] = kibi_load_lanes(bias + i % vectors * KIBI_LANES);
    }
    for (int32_t ky = 0; ky < rows; ++ky) {
        for (int32_t run = 0; run < g->runs; ++run) {
            const uint8_t *place = x + ky * g->row + run * g->column;
            for (int32_t k = 0; k < g->quads; ++k) {
                kibi_quads weights[KIBI_MOST_BLOCKS * KIBI_VECTORS];
                KIBI_UNROLL
                for (int32_t v = 0; v < vectors; ++v) {
                    weights[v] = kibi_load_quads(w + v / KIBI_VECTORS * block_bytes +
                                                 v % KIBI_VECTORS * KIBI_LANES * KIBI_QUAD);
                }
                KIBI_UNROLL
                for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                    const kibi_quads input = kibi_repeat_quad(place + pixel * g->pixel);
                    KIBI_UNROLL
                    for (int32_t v = 0; v < vectors; ++v) {
                        total[pixel * vectors + v] = kibi_add_dots(total[pixel * vectors + v], input, weights[v]);
                    }
                }
                w += KIBI_BLOCK * KIBI_QUAD;
                place += KIBI_QUAD;
            }
        }
    }
}

/* Computes some blocks of channels of some pixels; the first of the channels. */
static KIBI_INLINE void compute_blocks(int8_t *output, const params_type *p, int32_t pixels, int32_t blocks, const uint8_t *x,
                                       const geometry *g, int32_t channel)
{
    const kibi_scaling scaling = {KIBI_AT(int32_t, p, multiplier), KIBI_AT(int32_t, p, left),
                                  KIBI_AT(int32_t, p, right),      p->output_zero_point,
                                  p->activation_min,               p->activation_max};
    const int32_t elements = p->kernel_rows * g->runs * g->quads * KIBI_QUAD;
    kibi_lanes total[MOST_SUMS];
    add_up(total, pixels, blocks, KIBI_AT(int32_t, p, bias) + channel, KIBI_AT(int8_t, p, filter) + channel * elements, x, g,
           p->kernel_rows);
    KIBI_UNROLL
    for (int32_t block = 0; block < blocks; ++block) {
        const int32_t first = channel + block * KIBI_BLOCK;
        kibi_requantize_lanes(output + first, p->output_channels, total + block * KIBI_VECTORS, blocks * KIBI_VECTORS, pixels,
                              &scaling, first, p->output_channels - first);
    }
}

/* Computes all channels of some pixels from the first one's window. */
static KIBI_INLINE void compute(int8_t *output, const params_type *p, int32_t pixels, const uint8_t *x, const geometry *g)
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
static void compute_pixels(int8_t *output, const params_type *p, int32_t pixels, const uint8_t *x, const geometry *g)
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

void kibi_conv2d_s8_lanes(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_lanes_params *params, void *scratch)
{
    const params_type *const p = params;
    const int32_t depth = p->input_channels;
    const int32_t span = (p->kernel_width - 1) * p->dilation + 1;
    const int32_t is_whole = p->dilation == 1;
    const int32_t room = (BYTES / (p->kernel_rows * depth) - span) / p->stride + 1;
    const int32_t most = room < p->output_width ? room : p->output_width;
    const int32_t columns = (most - 1) * p->stride + span;
    const int32_t run = (is_whole ? p->kernel_width : 1) * depth;
    const geometry g = {columns * depth, p->dilation * depth, p->stride * depth, is_whole ? 1 : p->kernel_width,
                        (run + KIBI_QUAD - 1) / KIBI_QUAD};
    uint8_t copy[BYTES + KIBI_QUAD];
    (void)scratch;
    KIBI_ASSERT(room > 0);
    memset(copy + p->kernel_rows * columns * depth, 0, KIBI_QUAD);
    for (int32_t x = 0; x < p->output_width; x += most) {
        const int32_t end = p->output_width - x < most ? p->output_width - x : most;
        for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
            copy_columns(copy + ky * g.row, rows[ky], p, x * p->stride - p->pad, columns);
        }
        for (int32_t i = 0, pixels; i < end; i += pixels) {
            pixels = kibi_next_pixels(end - i);
            compute_pixels(output, p, pixels, copy + i * g.pixel, &g);
            output += pixels * p->output_channels;
        }
    }
}
