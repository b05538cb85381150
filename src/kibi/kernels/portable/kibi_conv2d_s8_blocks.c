/* CONV_2D, int8, from constants that are packed for blocks, in plain C: for cores without the instructions that the blocks are
 * made for. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_s8_blocks.h"

#include "kibi_requantize.h"

/* Copies the window that starts at column `start`; what fills it up to whole fours meets zeros only. */
static void gather(int8_t *to, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *p, int32_t start)
{
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int32_t column = start + kx * p->dilation;
            const int is_inside = column >= 0 && column < p->input_width;
            const int8_t *const from = is_inside ? rows[ky] + column * p->input_channels : p->padding;
            for (int32_t c = 0; c < p->input_channels; ++c) {
                *to++ = from[c];
            }
        }
    }
}

/* Adds the products of a window with both channels whose weights begin at `words`. */
static void add_window(int32_t *sums, const int32_t *words, const int8_t *window, int32_t size)
{
    for (int32_t k = 0; k < size; ++k) {
        const int32_t *const both = words + k / 4 * 2;
        const int32_t bits = k % 4 * 8;
        sums[0] += window[k] * (int8_t)((uint32_t)both[0] >> bits);
        sums[1] += window[k] * (int8_t)((uint32_t)both[1] >> bits);
    }
}

/* Computes the channels of one pixel from its window. */
static void pixel(int8_t *output, const int8_t *window, const kibi_conv2d_s8_blocks_params *p, int32_t elements)
{
    const int32_t *words = p->filter;
    const int32_t *channel = p->channels;
    for (int32_t o = 0; o < p->output_channels; o += 2) {
        int32_t sums[2] = {channel[0], channel[1]};
        const int8_t shifts[2] = {(int8_t)~channel[4], (int8_t) ~(channel[4] >> 8)};
        add_window(sums, words, window, elements);
        kibi_requantize_channels(output + o, sums, p->output_channels - o > 1 ? 2 : 1, channel + 2, shifts,
                                 p->output_zero_point, p->activation_min, p->activation_max);
        words += (elements + 3) / 4 * 2;
        channel += 5;
    }
}

void kibi_conv2d_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *params, void *scratch)
{
    const kibi_conv2d_s8_blocks_params *const p = params;
    const int32_t elements = p->kernel_rows * p->kernel_width * p->input_channels;
    int8_t *const windows = (int8_t *)scratch;
    int32_t pixels;
    for (int32_t x = 0; x < p->output_width; x += pixels) {
        const int32_t left = p->output_width - x;
        pixels = left == 2 || left == 4 ? 2 : p->pixels;
        for (int32_t k = 0; k < pixels; ++k) {
            gather(windows + k * elements, rows, p, (x + k) * p->stride - p->pad);
        }
        for (int32_t k = 0; k < pixels; ++k) {
            pixel(output, windows + k * elements, p, elements);
            output += p->output_channels;
        }
    }
}
