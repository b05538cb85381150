/* CONV_2D with a window of three by three, int8, two rows at a time, from constants that are packed for Winograd's F(2x2, 3x3), in
 * plain C, which takes the windows' weights back out of them: for cores that lack the instructions which they are made for. Source
 * of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_winograd.h"

#include <string.h>

#include "kibi_add_product.h"
#include "kibi_requantize.h"

enum { ROWS = 4, SIDE = 3, PAIR = 2, MORE_COLUMNS = 2, HEAD = 5, PLANES = 16 };

/* Weight `place` of a channel's in one of the planes. */
static int32_t weight(const int32_t *planes, int32_t plane, int32_t place, int32_t channel, int32_t depth)
{
    const int32_t element = place % 4;
    const uint32_t word = (uint32_t)planes[plane * depth + place / 4 * 4 + element % 2 * 2 + channel];
    return (int16_t)(word >> element / 2 * 16);
}

/* Takes the window's weights of an input channel out of the planes. */
static void taps(int32_t *w, const int32_t *planes, int32_t place, int32_t channel, int32_t depth)
{
    w[0] = weight(planes, 15, place, channel, depth) / 2;
    w[2] = weight(planes, 11, place, channel, depth) / 2;
    w[6] = weight(planes, 14, place, channel, depth) / 2;
    w[8] = weight(planes, 10, place, channel, depth) / 2;
    w[1] = weight(planes, 3, place, channel, depth) / 2 - w[0] - w[2];
    w[7] = weight(planes, 2, place, channel, depth) / 2 - w[6] - w[8];
    w[3] = weight(planes, 12, place, channel, depth) - w[0] - w[6];
    w[5] = weight(planes, 8, place, channel, depth) - w[2] - w[8];
    w[4] = weight(planes, 0, place, channel, depth);
    for (int32_t k = 0; k < SIDE * SIDE; ++k) {
        w[4] -= k == 4 ? 0 : w[k];
    }
}

/* Copies the four rows from `start` on, with the columns around them, which are then read before any pixel is written. */
static void copy(int8_t *to, const int8_t *const *rows, int32_t start, const kibi_conv2d_s8_row_pairs_params *p)
{
    const int32_t depth = p->input_channels;
    const int32_t columns = p->output_width + MORE_COLUMNS;
    for (int32_t k = 0; k < ROWS; ++k) {
        const int32_t row = start + k;
        const int is_there = row >= 0 && row < p->input_rows;
        for (int32_t i = 0; i < columns; ++i) {
            const int32_t column = i - p->pad;
            if (is_there && column >= 0 && column < p->input_width) {
                (void)memcpy(to, rows[p->pad_rows] + (row * p->input_width + column) * depth, (size_t)depth);
            } else {
                (void)memset(to, p->input_zero_point, (size_t)depth);
            }
            to += depth;
        }
    }
}

/* Computes two channels of a row from the copies of three. */
static void compute(int8_t *output, const int8_t *window, const int32_t *from, int32_t channel,
                    const kibi_conv2d_s8_row_pairs_params *p)
{
    const int32_t depth = p->input_channels;
    const int32_t row = (p->output_width + MORE_COLUMNS) * depth;
    const int8_t shift = (int8_t) ~(from[2] >> 8 * channel & 31);
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t sum = from[channel] / 4;
        for (int32_t place = 0; place < depth; ++place) {
            int32_t w[SIDE * SIDE];
            taps(w, from + HEAD, place, channel, depth);
            for (int32_t k = 0; k < SIDE * SIDE; ++k) {
                sum = kibi_add_product(sum, w[k], window[k / SIDE * row + (x + k % SIDE) * depth + place]);
            }
        }
        kibi_requantize_channels(output + x * p->output_channels, &sum, 1, from + 3 + channel, &shift, p->output_zero_point,
                                 p->activation_min, p->activation_max);
    }
}

void kibi_conv2d_s8_row_pairs(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_row_pairs_params *params,
                              void *scratch)
{
    const kibi_conv2d_s8_row_pairs_params *const p = params;
    const int32_t stride = HEAD + PLANES * p->input_channels;
    const int32_t row_bytes = (p->output_width + MORE_COLUMNS) * p->input_channels;
    int8_t *const copies = (int8_t *)scratch;
    for (int32_t next = 0; next < p->output_rows; next += PAIR) {
        const int32_t y = next + PAIR <= p->output_rows ? next : p->output_rows - PAIR;
        copy(copies, rows, y - p->pad_rows, p);
        for (int32_t k = 0; k < PAIR; ++k) {
            for (int32_t o = 0; o < p->output_channels; ++o) {
                compute(output + (y + k) * p->output_width * p->output_channels + o, copies + k * row_bytes,
                        KIBI_AT(int32_t, p, stream) + o / 2 * stride, o % 2, p);
            }
        }
    }
}
