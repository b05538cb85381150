/* CONV_2D, int16, from constants that are packed for blocks, in plain C: for cores without the instructions that the blocks are
 * made for. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d.h"

#include "kibi_requantize.h"

/* Copies the window that starts at column `start`, filled up to whole fours. Returns what is after it. */
static int16_t *gather(int16_t *to, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int32_t column = start + kx * p->dilation;
            const int is_inside = rows[ky] != NULL && column >= 0 && column < p->input_width;
            for (int32_t k = 0; k < depth; ++k) {
                *to++ = is_inside ? rows[ky][column * depth + k] : 0;
            }
        }
    }
    for (int32_t k = p->kernel_rows * p->kernel_width * depth; (k & 3) != 0; ++k) {
        *to++ = 0;
    }
    return to;
}

/* A sum, plus the products of a word's four weights. */
static uint32_t add_word(uint32_t sum, uint32_t word, const int16_t *x)
{
    sum += (uint32_t)((int8_t)(word & 0xFFu) * x[0]);
    sum += (uint32_t)((int8_t)(word >> 16 & 0xFFu) * x[1]);
    sum += (uint32_t)((int8_t)(word >> 8 & 0xFFu) * x[2]);
    return sum + (uint32_t)((int8_t)(word >> 24) * x[3]);
}

/* An output from its sum. */
static int16_t output_of(uint32_t sum, int32_t factor, const kibi_conv2d_s16_blocks_params *p)
{
    const int64_t product = (int64_t)(int32_t)sum * factor;
    const int32_t scaled = (int32_t)((product + ((int64_t)1 << 31)) >> 32);
    return (int16_t)kibi_clamp(scaled + p->output_zero_point, p->activation_min, p->activation_max);
}

/* Computes the channels of one pixel from its window. */
static void pixel(int16_t *output, const int16_t *window, int32_t elements, const kibi_conv2d_s16_blocks_params *p)
{
    const int32_t *words = KIBI_AT(int32_t, p, filter);
    const int32_t *channel = KIBI_AT(int32_t, p, channels);
    for (int32_t o = 0; o < p->output_channels; o += 2) {
        uint32_t sums[2] = {(uint32_t)channel[0], (uint32_t)channel[1]};
        for (int32_t k = 0; k < elements; k += 4) {
            sums[0] = add_word(sums[0], (uint32_t)*words++, window + k);
            sums[1] = add_word(sums[1], (uint32_t)*words++, window + k);
        }
        output[o] = output_of(sums[0], channel[2], p);
        if (o + 1 < p->output_channels) {
            output[o + 1] = output_of(sums[1], channel[3], p);
        }
        channel += 4;
    }
}

/* How many of the pixels that are left the next block has. */
static int32_t next_pixels(int32_t left, int32_t pixels)
{
    if (pixels == 3) {
        return left == 2 || left == 4 ? 2 : 3;
    }
    return left < pixels ? left : pixels;
}

void kibi_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *params,
                            void *scratch)
{
    const kibi_conv2d_s16_blocks_params *const p = params;
    const int32_t elements = (p->kernel_rows * p->kernel_width * p->input_channels + 3) & ~3;
    int32_t pixels;
    for (int32_t x = 0; x < p->output_width; x += pixels) {
        int16_t *to = (int16_t *)scratch;
        pixels = next_pixels(p->output_width - x, p->pixels);
        for (int32_t k = 0; k < pixels; ++k) {
            to = gather(to, rows, p, (x + k) * p->stride - p->pad);
        }
        for (int32_t k = 0; k < pixels; ++k) {
            pixel(output, (const int16_t *)scratch + k * elements, elements, p);
            output += p->output_channels;
        }
    }
}
