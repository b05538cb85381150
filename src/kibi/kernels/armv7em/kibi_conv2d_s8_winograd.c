/* CONV_2D with a kernel three columns wide, int8, Armv7E-M, from constants that are packed for Winograd's F(2,3). Source of the
 * rule: TFLM, integer_ops/conv.h, ConvPerChannel; of the transform: Lavin and Gray, "Fast Algorithms for Convolutional Neural
 * Networks". */
#include "kibi_conv2d_winograd.h"

#include "kibi_block_pixels.h"
#include "kibi_column_pointers.h"
#include "kibi_conv2d_s8_winograd_block.h"
#include "kibi_winograd_columns_s8.h"
#include "kibi_winograd_four_tiles_s8.h"

/* A part that a library leaves out where no layer has an odd number of output channels. */
#ifndef KIBI_CONV2D_WINOGRAD_OF_ODD_CHANNELS
#define KIBI_CONV2D_WINOGRAD_OF_ODD_CHANNELS 1
#endif

enum { PIXELS = 2, MOST_TILES = 4, MORE_COLUMNS = 2 };

/* Makes the planes of a block. */
static KIBI_NOINLINE void transform(int16_t *to, const int8_t *const *rows, const kibi_conv2d_s8_winograd_params *p,
                                    int32_t start, int32_t tiles, int32_t plane_bytes)
{
    const int8_t *columns[MOST_TILES * PIXELS + MORE_COLUMNS];
    const int8_t *const *const end = rows + p->kernel_rows;
    const int32_t depth = p->input_channels;
    const int32_t count = tiles * PIXELS + MORE_COLUMNS;
    const int32_t distance = start >= 0 && start + count <= p->input_width ? depth : 0;
    do {
        const void *from = columns;
        if (distance != 0) {
            from = *rows + start * depth;
        } else {
            kibi_column_pointers(columns, count, *rows, start, p->input_width, depth, KIBI_AT(int8_t, p, padding));
        }
        if (tiles == MOST_TILES) {
            to = kibi_winograd_four_tiles_s8(to, from, depth, plane_bytes, distance);
        } else {
            to = kibi_winograd_columns_s8(to, from, depth, plane_bytes, tiles, distance);
        }
    } while (++rows != end);
}

/* Says where the pixels of a block are whose pixels are `distance` bytes apart; of the last tile there may be but one. */
static void place(kibi_conv2d_s8_winograd_task *b, int32_t distance, int has_half)
{
    const int32_t last = (PIXELS * b->tiles - 1 - has_half) * distance; /* where the last tile's second pixel is written first */
    b->second = distance;
    b->fourth = b->tiles == 2 ? last : 3 * distance;
    b->sixth = b->tiles == 4 ? 5 * distance : last;
    b->eighth = last;
    b->fifth = (b->tiles == 2 ? 2 : 4) * distance;
    b->seventh = b->tiles == 4 ? 6 * distance : b->fifth;
}

/* Computes the last one of an odd number of channels, after `paired` others, and throws its neighbour away. */
static KIBI_NOINLINE void odd_channel(kibi_conv2d_s8_winograd_task *b, int32_t paired, int32_t distance, int has_half)
{
    int8_t *const output = b->output;
    int8_t *to = output + paired;
    int8_t last[2 * PIXELS * MOST_TILES];
    const int8_t *const end = last + 2 * (PIXELS * b->tiles - has_half);
    place(b, 2, has_half);
    b->output = last;
    b->end = last + 2;
    kibi_conv2d_s8_winograd_block(b);
    b->output = output;
    for (const int8_t *from = last; from != end; from += 2) {
        *to = *from;
        to += distance;
    }
}

/* Computes the channels of a block from its planes. */
static inline void channels(kibi_conv2d_s8_winograd_task *b, const kibi_conv2d_s8_winograd_params *p, int has_half)
{
    const int32_t odd = KIBI_CONV2D_WINOGRAD_OF_ODD_CHANNELS ? p->output_channels & 1 : 0;
    const int32_t paired = p->output_channels - odd;
    place(b, p->output_channels, has_half);
    b->stream = KIBI_AT(int32_t, p, stream);
    b->end = b->output + paired;
    if (paired != 0) {
        b->stream = kibi_conv2d_s8_winograd_block(b);
    }
    if (odd != 0) {
        odd_channel(b, paired, p->output_channels, has_half);
    }
}

void kibi_conv2d_s8_winograd(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_winograd_params *params,
                             void *scratch)
{
    const kibi_conv2d_s8_winograd_params *const p = params;
    const uint32_t each = 0x01010101u;
    int32_t start = -p->pad;
    int32_t left = p->output_width;
    kibi_conv2d_s8_winograd_task b;
    KIBI_ASSERT(p->output_width > PIXELS && scratch != NULL);
    b.output = output;
    b.columns = (const int16_t *)scratch;
    b.rounding = 2 * p->output_zero_point + 1;
    b.groups = p->kernel_rows * p->input_channels / 4;
    b.clamps = p->activation_min != INT8_MIN || p->activation_max != INT8_MAX;
    b.low = (uint8_t)p->activation_min * each;
    b.high = (uint8_t)p->activation_max * each;
    do {
        b.tiles = kibi_block_pixels((left + 1) / PIXELS, p->tiles);
        b.plane_bytes = 8 * b.tiles * b.groups;
        transform((int16_t *)scratch, rows, p, start, b.tiles, b.plane_bytes);
        left -= PIXELS * b.tiles;
        channels(&b, p, left < 0);
        start += PIXELS * b.tiles;
        b.output += PIXELS * b.tiles * p->output_channels;
    } while (left > 0);
}
