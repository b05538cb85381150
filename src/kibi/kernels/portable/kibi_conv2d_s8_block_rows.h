/* Rows of a convolution from constants that are packed for blocks, portable. */
#ifndef KIBI_CONV2D_S8_BLOCK_ROWS_H
#define KIBI_CONV2D_S8_BLOCK_ROWS_H

#include "kibi_block_pixels.h"
#include "kibi_conv2d.h"
#include "kibi_packed_pairs_s8.h"
#include "kibi_requantize.h"
#include "kibi_round_once.h"

/* Copies the window that starts at column `start`: of each row whole fours, then all rests. */
static void gather(int8_t *to, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    const int32_t run = p->kernel_width * depth;
    const int32_t whole = depth % 4 == 0 ? run : run & ~3;
    int8_t *rests = to + p->kernel_rows * whole;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        for (int32_t k = 0; k < run; ++k) {
            const int32_t column = start + k / depth * p->dilation;
            const int is_inside = column >= 0 && column < p->input_width;
            const int8_t x = is_inside ? rows[ky][column * depth + k % depth] : KIBI_AT(int8_t, p, padding)[0];
            *(k < whole ? to++ : rests++) = x;
        }
    }
}

/* Four weights w of int4 in packed pairs, from w + 8 in the lower half of each byte. */
static inline int32_t unpacked(uint32_t word)
{
    const uint32_t raised = word & 0x0F0F0F0Fu;
    return (int32_t)(((raised - 0x0808u) & 0xFFFFu) | ((raised & 0xFFFF0000u) - 0x08080000u));
}

/* Adds 256 times the products of a window with both channels whose weights begin at `words`. */
static void add_window(uint32_t *sums, const int32_t *words, const int8_t *window, int32_t elements, int is_int4)
{
    for (int32_t k = 0; k < elements; k += 4) {
        const uint32_t word = (uint32_t)*words++;
        const int32_t first = is_int4 ? unpacked(word) : (int32_t)word;
        const int32_t second = is_int4 ? unpacked(word >> 4) : *words++;
        sums[0] = kibi_add_word_s8(sums[0], first, window + k, elements - k);
        sums[1] = kibi_add_word_s8(sums[1], second, window + k, elements - k);
    }
}

/* The outputs of neighbouring channels from what their sums came to. */
static void finish(int8_t *output, const uint32_t *sums, int32_t count, const int32_t *multiplier,
                   const kibi_conv2d_s8_blocks_params *p)
{
    for (int32_t i = 0; i < count; ++i) {
        const int32_t sum = (int32_t)sums[i];
        int32_t value;
        if (p->rounds_once != 0) {
            value = kibi_round_once(sum, multiplier[i], p->output_zero_point,
                                    KIBI_CONV2D_FRACTION_BITS);
        } else {
            value = kibi_wrapping_add(kibi_requantize(sum >> 8, multiplier[i], (int8_t) ~(sum & 31)), p->output_zero_point);
        }
        output[i] = (int8_t)kibi_clamp(value, p->activation_min, p->activation_max);
    }
}

/* Computes the channels of one pixel from its window. */
static void pixel(int8_t *output, const int8_t *window, const kibi_conv2d_s8_blocks_params *p, int32_t elements, int is_int4)
{
    const int32_t *words = KIBI_AT(int32_t, p, stream);
    for (int32_t o = 0; o < p->output_channels; o += 2) {
        uint32_t sums[2] = {(uint32_t)words[0], (uint32_t)words[1]};
        add_window(sums, words + 2, window, elements, is_int4);
        words += 2 + (elements + 3) / 4 * (is_int4 ? 1 : 2);
        finish(output + o, sums, p->output_channels - o > 1 ? 2 : 1, words, p);
        words += 2;
    }
}

/* Computes an output row; is_int4: true if a word has weights of both channels. */
static inline void kibi_conv2d_block_row(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *p,
                                         void *scratch, int is_int4)
{
    const int32_t elements = p->kernel_rows * p->kernel_width * p->input_channels;
    int8_t *const windows = (int8_t *)scratch;
    int32_t pixels;
    for (int32_t x = 0; x < p->output_width; x += pixels) {
        pixels = kibi_block_pixels(p->output_width - x, p->pixels);
        for (int32_t k = 0; k < pixels; ++k) {
            gather(windows + k * elements, rows, p, (x + k) * p->stride - p->pad);
        }
        for (int32_t k = 0; k < pixels; ++k) {
            pixel(output, windows + k * elements, p, elements, is_int4);
            output += p->output_channels;
        }
    }
}

#endif
