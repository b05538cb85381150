/* CONV_2D, int16, from constants that are packed for blocks, in plain C: for cores without the instructions that the blocks are
 * made for. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d_s16_packed.h"

#include "kibi_requantize.h"

/* Copies the window that starts at column `start`: the pairs of all its runs, then what is left of runs of an odd number; filled up
 * to whole fours. Returns what is after it. */
static int16_t *gather(int16_t *to, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    const int32_t run = p->dilation == 1 ? p->kernel_width * depth : depth;
    const int32_t elements = p->kernel_rows * p->kernel_width * depth;
    const int32_t runs = elements / run;
    int16_t *last = to + runs * (run & ~1);
    int16_t *const end = to + ((elements + 3) & ~3);
    for (int32_t k = 0; k < runs; ++k) {
        const int16_t *const row = rows[k % p->kernel_rows];
        const int32_t first = start + k / p->kernel_rows * p->dilation;
        for (int32_t e = 0; e < run; ++e) {
            const int32_t column = first + e / depth;
            const int is_inside = row != NULL && column >= 0 && column < p->input_width;
            int16_t *const place = e == (run & ~1) ? last++ : to++;
            *place = is_inside ? row[column * depth + e % depth] : 0;
        }
    }
    while (last != end) {
        *last++ = 0;
    }
    return end;
}

/* Four weights of a channel, from words of 8 bits or of 16, as integers. */
static void read_weights(int32_t *four, const int32_t *words, const kibi_conv2d_s16_blocks_params *p)
{
    if (p->weight_bits == 16) {
        for (int32_t k = 0; k < 4; ++k) {
            four[k] = (int16_t)((uint32_t)words[k / 2 * 2] >> k % 2 * 16 & 0xFFFFu);
        }
    } else {
        for (int32_t k = 0; k < 4; ++k) {
            four[k] = (int8_t)((uint32_t)words[0] >> (k % 2 * 16 + k / 2 * 8) & 0xFFu);
        }
    }
}

/* A sum, plus the products of four weights of a channel. */
static uint32_t add_four(uint32_t sum, const int32_t *words, const int16_t *x, const kibi_conv2d_s16_blocks_params *p)
{
    int32_t four[4];
    read_weights(four, words, p);
    for (int32_t k = 0; k < 4; ++k) {
        sum += (uint32_t)(four[k] * x[k]);
    }
    return sum;
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
    const int32_t *words = KIBI_AT(int32_t, p, stream);
    for (int32_t o = 0; o < p->output_channels; o += 2) {
        uint32_t sums[2] = {(uint32_t)words[0], (uint32_t)words[1]};
        words += 2;
        for (int32_t k = 0; k < elements; k += 4) {
            sums[0] = add_four(sums[0], words, window + k, p);
            sums[1] = add_four(sums[1], words + 1, window + k, p);
            words += p->weight_bits / 4;
        }
        output[o] = output_of(sums[0], words[0], p);
        if (o + 1 < p->output_channels) {
            output[o + 1] = output_of(sums[1], words[1], p);
        }
        words += 2;
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
