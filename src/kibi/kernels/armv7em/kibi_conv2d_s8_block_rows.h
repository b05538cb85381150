/* Rows of a convolution, Armv7E-M, from constants that are packed for blocks. Whoever includes this defines before what computes
 * a block: KIBI_BLOCK_OF_2, KIBI_BLOCK_OF_3 and KIBI_BLOCK_OF_4, functions of the task; and KIBI_BLOCK_WORDS, the words of
 * weights of two channels for four elements. */
#ifndef KIBI_CONV2D_S8_BLOCK_ROWS_H
#define KIBI_CONV2D_S8_BLOCK_ROWS_H

#include "kibi_conv2d_s8_block_windows.h"
#include "kibi_round_once.h"

/* A part that a library leaves out where no layer has an odd number of output channels. */
#ifndef KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS
#define KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS 1
#endif

/* Weights and constants of a pass, so that they fit a cache of 256 bytes; constants of two channels. */
enum { CACHED_BYTES = 192, CONSTANTS_BYTES = 16 };

static inline void compute(kibi_conv2d_s8_pixels *block, int32_t pixels)
{
    if (is_size(4, pixels)) {
        KIBI_BLOCK_OF_4(block);
    } else if (is_size(3, pixels)) {
        KIBI_BLOCK_OF_3(block);
    } else if (KIBI_CONV2D_BLOCKS_OF_2) {
        KIBI_BLOCK_OF_2(block);
    }
}

/* Says which channels are computed: those up to `end` of the first pixel, of one block or of several side by side. */
static inline void set_blocks(task *t, int8_t *output, const int8_t *end)
{
    kibi_conv2d_s8_pixels *const block = &t->block;
    block->output = output;
    block->windows_end = block->windows + t->size * t->pixels;
    block->end = end;
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
    block->all_end = t->windows;
    block->last = end;
    block->pass_bytes = end - output;
    block->next_bytes = t->pixels * block->output_channels;
    if (block->all_end != block->windows_end) {
        const int32_t bytes = 2 * (CACHED_BYTES / (block->groups * KIBI_BLOCK_WORDS * 4 + CONSTANTS_BYTES));
        block->pass_bytes = bytes < 2 ? 2 : bytes < block->pass_bytes ? bytes : block->pass_bytes;
        block->end = output + block->pass_bytes;
    }
#endif
}

/* The pixels whose windows are in scratch. */
static inline int32_t pixels_done(const task *t)
{
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
    return t->done;
#else
    return t->pixels;
#endif
}

/* Output channels, but for the last one of an odd number. */
static inline int32_t paired_channels(const kibi_conv2d_s8_blocks_params *p)
{
    return KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS ? p->output_channels & ~1 : p->output_channels;
}

/* Computes the last one of an odd number of channels of all blocks, after the others, and throws its neighbour away. */
static KIBI_NOINLINE void odd_channel(int8_t *output, task *t)
{
    int8_t both[2 * MOST_PIXELS];
    t->block.stream = KIBI_AT(int32_t, t->params, stream) +
                      t->params->output_channels / 2 * (KIBI_BLOCK_WORDS * t->block.groups + CONSTANTS_BYTES / 4);
    t->block.output_channels = 2;
    t->block.output = both;
    t->block.end = both + 2;
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
    t->block.last = both + 2;
    t->block.pass_bytes = 2;
#endif
    do {
        t->block.windows_end = t->block.windows + t->size * t->pixels;
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
        t->block.all_end = t->block.windows_end;
#endif
        compute(&t->block, t->pixels);
        for (int32_t pixel = 0; pixel < t->pixels; ++pixel) {
            *output = both[2 * pixel];
            output += t->params->output_channels;
        }
        t->block.windows = t->block.windows_end;
    } while (KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE && t->block.windows != t->windows);
    t->block.windows -= t->size * pixels_done(t);
    t->block.output_channels = t->params->output_channels;
}

/* True if the next block has the size of this one. `left`: pixels after this one. Fours follow one another as long as there are any. */
static inline int has_same_size(const task *t, int32_t left)
{
    return is_size(4, t->pixels) ? left >= 4 : left != 0 && kibi_block_pixels(left, t->params->pixels) == t->pixels;
}

/* Widens the windows of the next block, and of as many after it as have its size and scratch is for. */
static inline void widen_blocks(task *t, int32_t left)
{
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
    const int32_t most = t->params->blocks * t->pixels;
    t->windows = (int16_t *)(uintptr_t)t->block.windows;
    t->done = 0;
    do {
        widen_windows(t);
        t->start += t->pixels * t->params->stride;
        t->windows += t->size * t->pixels;
        t->done += t->pixels;
    } while (t->done < most && has_same_size(t, left - t->done));
#else
    (void)left;
    widen_windows(t);
    t->start += t->pixels * t->params->stride;
#endif
}

/* True if outputs are rounded once. Where all layers of a library are alike in that, the answer is a constant. */
static inline int32_t rounds_once(const kibi_conv2d_s8_blocks_params *p)
{
    if (KIBI_CONV2D_BLOCKS_ROUNDED_ONCE && KIBI_CONV2D_BLOCKS_ROUNDED_TWICE) {
        return p->rounds_once;
    }
    return KIBI_CONV2D_BLOCKS_ROUNDED_ONCE;
}

/* Sets what is the same for all blocks of a row. Every row fetches these instructions anew, so what no part of the library reads is left
 * out. */
static KIBI_NOINLINE void begin_row(task *t, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *p, void *scratch)
{
    t->params = p;
    t->rows = rows;
    t->start = -p->pad;
    t->run = p->kernel_width * p->input_channels;
    t->size = (p->kernel_rows * t->run + 3) & ~3;
    if (KIBI_CONV2D_BLOCKS_AT_EDGES) {
        t->last_inside = p->dilation == 1 && p->kernel_width <= p->input_width ? p->input_width - p->kernel_width : -1;
    }
    if (KIBI_CONV2D_BLOCKS_OF_THREE_ROWS) {
        t->has_three_rows = has_three_rows(t);
    }
    t->windows = (int16_t *)scratch;
    t->block.windows = t->windows;
    t->block.groups = t->size / 4;
    t->block.zero_point = p->output_zero_point * (rounds_once(p) ? 1 << KIBI_CONV2D_FRACTION_BITS : 1);
    t->block.rounds_once = rounds_once(p);
    t->block.output_channels = p->output_channels;
    if (KIBI_CONV2D_BLOCKS_OF_CLAMPS) {
        const uint32_t each = 0x01010101u;
        t->block.clamps = p->activation_min != INT8_MIN || p->activation_max != INT8_MAX;
        t->block.low = (uint8_t)p->activation_min * each;
        t->block.high = (uint8_t)p->activation_max * each;
    }
}

/* Computes an output row. Part of its caller before anything else is optimized, as if it were written there. */
static inline __attribute__((always_inline)) void kibi_conv2d_block_row(int8_t *output, const int8_t *const *rows,
                                                                        const kibi_conv2d_s8_blocks_params *p, void *scratch)
{
    task t;
    int32_t left = p->output_width;
    KIBI_ASSERT(left > 1 && scratch != NULL);
    begin_row(&t, rows, p, scratch);
    do {
        /* Where no block has four pixels, the compiler sees that from the bits that are left. */
        t.pixels = kibi_block_pixels(left, KIBI_CONV2D_BLOCKS_OF_4 ? t.params->pixels : t.params->pixels & 3);
        widen_blocks(&t, left);
        t.block.stream = KIBI_AT(int32_t, t.params, stream);
        set_blocks(&t, output, output + paired_channels(t.params));
        if (!KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS || t.params->output_channels > 1) {
            compute(&t.block, t.pixels);
        }
        if (KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS && t.params->output_channels % 2 != 0) {
            odd_channel(output + paired_channels(t.params), &t);
        }
        output += pixels_done(&t) * t.params->output_channels;
        left -= pixels_done(&t);
    } while (left != 0);
}

#endif
