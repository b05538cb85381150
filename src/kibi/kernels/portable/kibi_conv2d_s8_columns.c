/* CONV_2D with a kernel three columns wide, int8, from constants that are packed for blocks that share columns, in plain C:
 * for cores that lack the instructions which the blocks are made for. Source of the rule: TFLM, integer_ops/conv.h,
 * ConvPerChannel. */
#include "kibi_conv2d.h"

#include <string.h>

#include "kibi_block_pixels.h"
#include "kibi_packed_pairs_s8.h"
#include "kibi_requantize.h"

enum { WIDTH = 3, MOST_PIXELS = 4 };

/* The pixel that is computed: its window starts at column `start`, or is in `gathered`, row by row, unless that is null. */
typedef struct {
    const kibi_conv2d_s8_columns_params *params;
    const int8_t *const *rows;
    int32_t start;
    int8_t *gathered;
} pixel;

/* Where column `kx` of the window's row `ky` begins. */
static const int8_t *column_of(const pixel *x, int32_t ky, int32_t kx)
{
    const int32_t column = x->start + kx;
    const int is_inside = column >= 0 && column < x->params->input_width;
    return is_inside ? x->rows[ky] + column * x->params->input_channels : KIBI_AT(int8_t, x->params, padding);
}

/* Copies the window, which is then read before any channel is written. */
static void gather(const pixel *x)
{
    const int32_t depth = x->params->input_channels;
    for (int32_t i = 0; i < x->params->kernel_rows * WIDTH; ++i) {
        (void)memcpy(x->gathered + i * depth, column_of(x, i / WIDTH, i % WIDTH), (size_t)depth);
    }
}

/* Adds 256 times the products of a pass with both channels' weights, from row `ky` and input channel `first` on; returns what follows
 * these in the stream. */
static const int32_t *add_pass(uint32_t *sums, const int32_t *w, const pixel *x, int32_t ky, int32_t first)
{
    const kibi_conv2d_s8_columns_params *const p = x->params;
    const int32_t end = ky + p->rows_at_once;
    for (; ky < end; ++ky) {
        for (int32_t c = first; c < first + p->channels_at_once; c += 4) {
            for (int32_t kx = 0; kx < WIDTH; ++kx) {
                const int32_t place = (ky * WIDTH + kx) * p->input_channels;
                const int8_t *const from = (x->gathered != NULL ? x->gathered + place : column_of(x, ky, kx)) + c;
                sums[0] = kibi_add_word_s8(sums[0], *w++, from, 4);
                sums[1] = kibi_add_word_s8(sums[1], *w++, from, 4);
            }
        }
    }
    return w;
}

/* Computes a pair of channels, or an odd last one. */
static void compute_pair(int8_t *output, const pixel *x, int32_t channel)
{
    const kibi_conv2d_s8_columns_params *const p = x->params;
    const int32_t pairs = (p->output_channels + 1) / 2;
    const int32_t weights = p->rows_at_once * p->channels_at_once / 4 * WIDTH * 2;
    const int32_t *pass = KIBI_AT(int32_t, p, stream);
    const int32_t *from = pass;
    int32_t in_front = 2;
    uint32_t sums[2] = {0, 0};
    int32_t whole[2];
    int8_t shifts[2];
    for (int32_t ky = 0; ky < p->kernel_rows; ky += p->rows_at_once) {
        for (int32_t c = 0; c < p->input_channels; c += p->channels_at_once) {
            const int is_last = ky + p->rows_at_once == p->kernel_rows && c + p->channels_at_once == p->input_channels;
            const int32_t each = in_front + weights + (is_last ? 2 : 0);
            from = pass + channel / 2 * each;
            if (in_front != 0) {
                sums[0] = (uint32_t)from[0];
                sums[1] = (uint32_t)from[1];
            }
            from = add_pass(sums, from + in_front, x, ky, c);
            pass += pairs * each;
            in_front = 0;
        }
    }
    shifts[0] = (int8_t) ~(int32_t)(sums[0] & 31);
    shifts[1] = (int8_t) ~(int32_t)(sums[1] & 31);
    whole[0] = (int32_t)sums[0] >> 8;
    whole[1] = (int32_t)sums[1] >> 8;
    kibi_requantize_channels(output + channel, whole, p->output_channels - channel > 1 ? 2 : 1, from, shifts,
                             p->output_zero_point, p->activation_min, p->activation_max);
}

/* Computes a block of pixels. Scratch has room for their windows, or, where there are passes, for their channels, which are
 * then written at once: either way all is read before anything is written. */
static void compute_block(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_columns_params *p, int32_t start,
                          int32_t pixels, int8_t *scratch)
{
    const int has_passes = p->rows_at_once != p->kernel_rows || p->channels_at_once != p->input_channels;
    const int32_t window_bytes = p->kernel_rows * WIDTH * p->input_channels;
    int8_t *const to = has_passes ? scratch : output;
    pixel block[MOST_PIXELS];
    for (int32_t k = 0; k < pixels; ++k) {
        const pixel x = {p, rows, start + k * p->stride, has_passes ? NULL : scratch + k * window_bytes};
        block[k] = x;
        if (!has_passes) {
            gather(&x);
        }
    }
    for (int32_t k = 0; k < pixels; ++k) {
        for (int32_t o = 0; o < p->output_channels; o += 2) {
            compute_pair(to + k * p->output_channels, &block[k], o);
        }
    }
    if (has_passes != 0) {
        (void)memcpy(output, to, (size_t)(pixels * p->output_channels));
    }
}

void kibi_conv2d_s8_columns(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_columns_params *params,
                            void *scratch)
{
    int32_t start = -params->pad;
    int32_t pixels;
    for (int32_t left = params->output_width; left > 0; left -= pixels) {
        pixels = kibi_block_pixels(left, params->pixels);
        compute_block(output, rows, params, start, pixels, (int8_t *)scratch);
        start += pixels * params->stride;
        output += pixels * params->output_channels;
    }
}
