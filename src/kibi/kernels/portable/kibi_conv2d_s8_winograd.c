/* CONV_2D with a kernel three columns wide, int8, from constants that are packed for Winograd's F(2,3), in plain C, which takes
 * the kernel's columns back out of them: for cores that lack the instructions which they are made for. Source of the rule:
 * TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_winograd.h"

#include <string.h>

#include "kibi_add_product.h"
#include "kibi_block_pixels.h"
#include "kibi_requantize.h"

enum { WIDTH = 3, PIXELS = 2 };

/* Weight `place` of a channel's, among those from `words` on. */
static int32_t weight(const int32_t *words, int32_t place, int32_t channel)
{
    const int32_t element = place % 4;
    const uint32_t word = (uint32_t)words[place / 4 * 4 + element % 2 * 2 + channel];
    return (int16_t)(word >> element / 2 * 16);
}

/* Copies the window from column `start` on, which is then read before any channel is written. */
static void gather(int8_t *to, const int8_t *const *rows, const kibi_conv2d_s8_winograd_params *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    for (int32_t i = 0; i < p->kernel_rows * WIDTH; ++i) {
        const int32_t column = start + i % WIDTH;
        const int is_inside = column >= 0 && column < p->input_width;
        (void)memcpy(to + i * depth, is_inside ? rows[i / WIDTH] + column * depth : KIBI_AT(int8_t, p, padding),
               (size_t)depth);
    }
}

/* Adds the products of a window with a channel of the pair whose weights begin at `w`. */
static int32_t add_window(int32_t sum, const int32_t *w, int32_t channel, const int8_t *window,
                          const kibi_conv2d_s8_winograd_params *p)
{
    const int32_t depth = p->input_channels;
    const int32_t size = p->kernel_rows * depth;
    for (int32_t place = 0; place < size; ++place) {
        const int8_t *const from = window + place / depth * WIDTH * depth + place % depth;
        const int32_t first = weight(w + 3 * size + 3, place, channel) / 2;
        const int32_t last = weight(w + 2 * size, place, channel) / 2;
        const int32_t middle = weight(w, place, channel) - first - last;
        sum = kibi_add_product(sum, first, from[0]);
        sum = kibi_add_product(sum, middle, from[depth]);
        sum = kibi_add_product(sum, last, from[2 * depth]);
    }
    return sum;
}

/* Computes the channels of one pixel from its window. */
static void compute_pixel(int8_t *output, const int8_t *window, const kibi_conv2d_s8_winograd_params *p)
{
    const int32_t weights = 4 * p->kernel_rows * p->input_channels;
    const int32_t *from = KIBI_AT(int32_t, p, stream);
    for (int32_t o = 0; o < p->output_channels; o += 2) {
        const int32_t *const scaling = from + 2 + weights + 3;
        const int8_t shifts[2] = {(int8_t) ~(scaling[0] & 31), (int8_t) ~(scaling[0] >> 8 & 31)};
        const int32_t sums[2] = {
            add_window(from[0] / 2, from + 2, 0, window, p),
            add_window(from[1] / 2, from + 2, 1, window, p),
        };
        kibi_requantize_channels(output + o, sums, p->output_channels - o > 1 ? 2 : 1, scaling + 1, shifts,
                                 p->output_zero_point, p->activation_min, p->activation_max);
        from += 2 + weights + 6;
    }
}

void kibi_conv2d_s8_winograd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_winograd_params *params,
                             void *scratch)
{
    const kibi_conv2d_s8_winograd_params *const p = params;
    const int32_t window_bytes = p->kernel_rows * WIDTH * p->input_channels;
    int8_t *const windows = (int8_t *)scratch;
    int32_t start = -p->pad;
    int32_t pixels;
    for (int32_t left = p->output_width; left > 0; left -= pixels) {
        pixels = PIXELS * kibi_block_pixels((left + 1) / PIXELS, p->tiles);
        pixels = pixels < left ? pixels : left;
        /* All windows of a block are read before anything is written. */
        for (int32_t k = 0; k < pixels; ++k) {
            gather(windows + k * window_bytes, rows, p, start + k);
        }
        for (int32_t k = 0; k < pixels; ++k) {
            compute_pixel(output, windows + k * window_bytes, p);
            output += p->output_channels;
        }
        start += pixels;
    }
}
