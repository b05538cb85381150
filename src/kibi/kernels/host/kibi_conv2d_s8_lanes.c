/* CONV_2D, int8, for processors with vectors. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_s8_lanes.h"

#include "kibi_requantize_lanes.h"

#define KIBI_ROW_PARAMS kibi_conv2d_s8_lanes_params
#define KIBI_ROW_ELEMENT int8_t
#define KIBI_ROW_COPY uint8_t
#define KIBI_ROW_ROOM 32768
#define KIBI_ROW_STEP KIBI_QUAD
#include "kibi_conv2d_lanes.h"

#define MOST_SUMS (KIBI_MOST_PIXELS * KIBI_MOST_BLOCKS * KIBI_VECTORS)

static inline void kibi_copy_columns(uint8_t *to, const int8_t *row, const kibi_conv2d_s8_lanes_params *p, int32_t start,
                                     int32_t columns)
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

/* Bytes of the copy have no sign. */
static inline const uint8_t *kibi_uncopied(const int8_t *output, const int8_t *row, const kibi_conv2d_s8_lanes_params *p)
{
    (void)output;
    (void)row;
    (void)p;
    return NULL;
}

/* Sums of some blocks of channels for some pixels, both known to the compiler: [pixels][blocks][16]. */
static KIBI_INLINE void add_up(kibi_lanes *total, int32_t pixels, int32_t blocks, const int32_t *bias, const int8_t *w,
                               const uint8_t *x, const kibi_window_geometry *g, int32_t rows)
{
    const int32_t vectors = blocks * KIBI_VECTORS;
    const int32_t block_bytes = rows * g->runs * g->steps * KIBI_BLOCK * KIBI_QUAD;
    KIBI_UNROLL
    for (int32_t i = 0; i < pixels * vectors; ++i) {
        total[i] = kibi_load_lanes(bias + i % vectors * KIBI_LANES);
    }
    for (int32_t ky = 0; ky < rows; ++ky) {
        for (int32_t run = 0; run < g->runs; ++run) {
            const uint8_t *place = x + ky * g->row + run * g->column;
            for (int32_t k = 0; k < g->steps; ++k) {
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

static KIBI_INLINE void kibi_compute_blocks(int8_t *output, const kibi_conv2d_s8_lanes_params *p, int32_t pixels, int32_t blocks,
                                            const uint8_t *x, const kibi_window_geometry *g, int32_t channel)
{
    const kibi_scaling scaling = {KIBI_AT(int32_t, p, multiplier), KIBI_AT(int32_t, p, left),
                                  KIBI_AT(int32_t, p, right),      KIBI_AT(float, p, half),
                                  p->output_zero_point,            p->activation_min,
                                  p->activation_max};
    const int32_t elements = p->kernel_rows * g->runs * g->steps * KIBI_QUAD;
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

void kibi_conv2d_s8_lanes(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_lanes_params *params, void *scratch)
{
    (void)scratch;
    kibi_convolve_row(output, rows, params, params->output_channels);
}
