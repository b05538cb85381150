/* CONV_2D, int8, for processors with vectors. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_s8_lanes.h"

#include <string.h>

#include "kibi_lanes.h"
#include "kibi_requantize_lanes.h"

#define PIXELS 4
#define ELEMENTS 4096
/* Vectors of a block; and blocks computed at once, so that sums fill the registers: of all pixels, or of one. */
#define VECTORS (KIBI_BLOCK / KIBI_LANES)
#define BLOCKS (KIBI_LANES < KIBI_BLOCK ? 1 : 2)
#define BLOCKS_OF_ONE 4
#define MOST_BLOCKS (PIXELS * BLOCKS)

typedef kibi_conv2d_s8_lanes_params params_type;

/* Copies the window that starts at that column, widened, with a zero after it. */
static void gather(int16_t *to, const int8_t *const *rows, const params_type *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    const int is_inside = p->dilation == 1 && start >= 0 && start + p->kernel_width <= p->input_width;
    const int32_t pieces = is_inside ? 1 : p->kernel_width;
    const int32_t count = is_inside ? p->kernel_width * depth : depth;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t column = start;
        for (int32_t piece = 0; piece < pieces; ++piece) {
            if (column >= 0 && column < p->input_width) {
                const int8_t *const from = rows[ky] + column * depth;
                for (int32_t i = 0; i < count; ++i) {
                    to[i] = from[i];
                }
            } else {
                for (int32_t i = 0; i < count; ++i) {
                    to[i] = (int16_t)p->input_zero_point;
                }
            }
            to += count;
            column += p->dilation;
        }
    }
    *to = 0;
}

/* Sums of some blocks of channels for some pixels, both known to the compiler: [pixels][blocks][16]. */
static KIBI_INLINE void add_up(int32_t *sums, int32_t pixels, int32_t blocks, const int32_t *bias, const int8_t *w,
                          const int16_t *x, int32_t pairs)
{
    kibi_lanes total[MOST_BLOCKS * VECTORS];
    const int32_t vectors = blocks * VECTORS;
    KIBI_UNROLL
    for (int32_t i = 0; i < pixels * vectors; ++i) {
        memcpy(&total[i], bias + i % vectors * KIBI_LANES, sizeof total[i]);
    }
    for (int32_t k = 0; k < pairs; ++k) {
        KIBI_UNROLL
        for (int32_t v = 0; v < vectors; ++v) {
            const int8_t *const block = w + v / VECTORS * pairs * 2 * KIBI_BLOCK;
            const kibi_lane_pairs weights = kibi_load_weights(block + v % VECTORS * 2 * KIBI_LANES);
            KIBI_UNROLL
            for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                const kibi_pair input = kibi_load_pair(x + 2 * (pixel * pairs + k));
                total[pixel * vectors + v] = kibi_add_products(total[pixel * vectors + v], weights, input);
            }
        }
        w += 2 * KIBI_BLOCK;
    }
    memcpy(sums, total, (size_t)(pixels * blocks * KIBI_BLOCK) * sizeof *sums);
}

/* Computes all channels of some pixels from their windows. */
static KIBI_INLINE void compute(int8_t *output, const params_type *p, int32_t pixels, int32_t at_once, const int16_t *x,
                           int32_t pairs)
{
    const kibi_scaling scaling = {KIBI_AT(int32_t, p, multiplier), KIBI_AT(int32_t, p, left),
                                  KIBI_AT(int32_t, p, right),      p->output_zero_point,
                                  p->activation_min,               p->activation_max};
    int32_t sums[MOST_BLOCKS * KIBI_BLOCK];
    int32_t blocks;
    for (int32_t o = 0; o < p->output_channels; o += blocks * KIBI_BLOCK) {
        const int8_t *const w = KIBI_AT(int8_t, p, filter) + o * pairs * 2;
        blocks = o + (at_once - 1) * KIBI_BLOCK < p->output_channels ? at_once : 1;
        if (blocks == at_once) {
            add_up(sums, pixels, at_once, KIBI_AT(int32_t, p, bias) + o, w, x, pairs);
        } else {
            add_up(sums, pixels, 1, KIBI_AT(int32_t, p, bias) + o, w, x, pairs);
        }
        for (int32_t i = 0; i < pixels * blocks; ++i) {
            const int32_t channel = o + i % blocks * KIBI_BLOCK;
            kibi_requantize_lanes(output + i / blocks * p->output_channels + channel, sums + i * KIBI_BLOCK, &scaling,
                                  channel, p->output_channels - channel);
        }
    }
}

void kibi_conv2d_s8_lanes(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_lanes_params *params, void *scratch)
{
    const params_type *const p = params;
    const int32_t elements = p->kernel_rows * p->kernel_width * p->input_channels;
    const int32_t pairs = (elements + 1) / 2;
    int16_t windows[PIXELS * ELEMENTS + 1];
    int32_t pixels;
    (void)scratch;
    KIBI_ASSERT(elements > 0 && elements <= ELEMENTS);
    for (int32_t x = 0; x < p->output_width; x += pixels) {
        pixels = x + PIXELS <= p->output_width ? PIXELS : p->output_width - x;
        for (int32_t i = 0; i < pixels; ++i) {
            gather(windows + 2 * pairs * i, rows, p, (x + i) * p->stride - p->pad);
        }
        if (pixels == PIXELS) {
            compute(output, p, PIXELS, BLOCKS, windows, pairs);
        } else {
            for (int32_t i = 0; i < pixels; ++i) {
                compute(output + i * p->output_channels, p, 1, BLOCKS_OF_ONE, windows + 2 * pairs * i, pairs);
            }
        }
        output += pixels * p->output_channels;
    }
}
