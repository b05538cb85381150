/* CONV_2D, int8, Armv7E-M, from constants that are packed for blocks. Source of the rule: TFLM, integer_ops/conv.h,
 * ConvPerChannel. */
#include "kibi_conv2d_s8_blocks.h"

#include "kibi_conv2d_s8_block2.h"
#include "kibi_conv2d_s8_block3.h"
#include "kibi_widen2_s8.h"
#include "kibi_widen3_s8.h"

enum { MOST_PIXELS = 3 };

/* A row that is being computed, and in it the block whose first window starts at column `start`. */
typedef struct {
    const kibi_conv2d_s8_blocks_params *params;
    const int8_t *const *rows;
    int32_t start;
    int32_t pixels;
    int32_t run; /* neighbouring elements of a window's row */
    int32_t size;     /* a window's elements, rounded up to whole fours */
    int16_t *windows; /* where they are widened to */
    int8_t *staged;   /* where they are gathered first, if they are */
} task;

/* The first element of a column, which may lie outside. */
static inline const int8_t *column_of(const kibi_conv2d_s8_blocks_params *p, const int8_t *row, int32_t column)
{
    return column >= 0 && column < p->input_width ? row + column * p->input_channels : p->padding;
}

static inline void copy_word(int8_t *to, const int8_t *from)
{
    uint32_t word;
    __builtin_memcpy(&word, from, sizeof(word));
    __builtin_memcpy(to, &word, sizeof(word));
    __asm__ volatile(""); /* else the compiler makes it a call of memcpy, which is large */
}

/* Copies elements, at least four: by words, the last of which may overlap the one before. */
static inline void copy_words(int8_t *to, const int8_t *from, int32_t count)
{
    const int8_t *const last = from + count - 4;
    copy_word(to + count - 4, last);
    while (from < last) {
        copy_word(to, from);
        from += 4;
        to += 4;
    }
}

/* Copies any number of elements; returns what is behind. */
static KIBI_NOINLINE int8_t *copy(int8_t *to, const int8_t *from, int32_t count)
{
    if (count >= 4) {
        copy_words(to, from, count);
        return to + count;
    }
    for (; count > 0; --count) {
        *to++ = *from++;
    }
    return to;
}

static int16_t *widen(int16_t *to, const int8_t *from, int32_t distance, int32_t count, int32_t pixels)
{
    if (pixels == MOST_PIXELS) {
        return kibi_widen3_s8(to, from, from + distance, from + 2 * distance, count);
    }
    return kibi_widen2_s8(to, from, from + distance, count);
}

/* Whether a window lies inside its rows in one piece each. */
static inline int is_inside(const task *t, int32_t start)
{
    return t->params->dilation == 1 && start >= 0 && start + t->params->kernel_width <= t->params->input_width;
}

/* Gathers a window that reaches outside: each row from what is in front of the input, in it and behind it. */
static KIBI_NOINLINE void gather_edge(int8_t *to, const task *t, int32_t start)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    const int32_t depth = p->input_channels;
    const int32_t behind = start + p->kernel_width - p->input_width;
    const int32_t after = behind > 0 ? behind : 0;
    const int32_t before = start < 0 ? -start : 0;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (p->dilation == 1) {
            to = copy(to, p->padding, before * depth);
            to = copy(to, t->rows[ky] + (start + before) * depth, t->run - (before + after) * depth);
            to = copy(to, p->padding, after * depth);
            continue;
        }
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            to = copy(to, column_of(p, t->rows[ky], start + kx * p->dilation), depth);
        }
    }
}

/* Gathers a window. */
static KIBI_NOINLINE void gather(int8_t *to, const task *t, int32_t start)
{
    if (t->run < 4 || !is_inside(t, start)) {
        gather_edge(to, t, start);
        return;
    }
    const int32_t offset = start * t->params->input_channels;
    const int8_t *const *const end = t->rows + t->params->kernel_rows;
    for (const int8_t *const *row = t->rows; row != end; ++row) {
        copy_words(to, *row + offset, t->run);
        to += t->run;
    }
}

/* Widens the block's windows column by column; channels are whole fours. */
static KIBI_NOINLINE void widen_columns(const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    int16_t *to = t->windows;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t column = t->start;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int8_t *const a = column_of(p, t->rows[ky], column);
            const int8_t *const b = column_of(p, t->rows[ky], column + p->stride);
            if (t->pixels == MOST_PIXELS) {
                to = kibi_widen3_s8(to, a, b, column_of(p, t->rows[ky], column + 2 * p->stride), p->input_channels);
            } else {
                to = kibi_widen2_s8(to, a, b, p->input_channels);
            }
            column += p->dilation;
        }
    }
}

/* Widens the block's windows, which lie inside, row by row. */
static inline void widen_rows(const task *t, int32_t distance)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    int16_t *to = t->windows;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        const int8_t *const from = t->rows[ky] + t->start * p->input_channels;
        to = widen(to, from, distance, t->run, t->pixels);
    }
}

/* Widens the block's windows: where they lie, column by column, or where they were gathered. */
static KIBI_NOINLINE void widen_windows(const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    const int32_t last = t->start + (t->pixels - 1) * p->stride;
    if (t->run % 4 == 0 && is_inside(t, t->start) && is_inside(t, last)) {
        widen_rows(t, p->stride * p->input_channels);
    } else if (p->input_channels % 4 == 0) {
        widen_columns(t);
    } else {
        int8_t *to = t->staged;
        for (int32_t start = t->start; start <= last; start += p->stride) {
            gather(to, t, start);
            to += t->size;
        }
        widen(t->windows, t->staged, t->size, t->size, t->pixels);
    }
}

static void block(kibi_conv2d_s8_block *b, int32_t pixels)
{
    if (pixels == MOST_PIXELS) {
        kibi_conv2d_s8_block3(b);
    } else {
        kibi_conv2d_s8_block2(b);
    }
}

/* Computes the block's channels; behind the last pair an odd one, whose neighbour is thrown away. */
static KIBI_NOINLINE void channels(int8_t *output, const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    const int32_t paired = p->output_channels & ~1;
    const uint32_t each = 0x01010101u;
    int8_t last[2 * MOST_PIXELS];
    kibi_conv2d_s8_block b;
    b.channels = p->channels;
    b.output = output;
    b.output_channels = p->output_channels;
    b.end = output + paired;
    b.rounding = 2 * p->output_zero_point + 1;
    b.clamps = p->activation_min != INT8_MIN || p->activation_max != INT8_MAX;
    b.low = (uint8_t)p->activation_min * each;
    b.high = (uint8_t)p->activation_max * each;
    b.filter = p->filter;
    b.windows = t->windows;
    b.windows_end = t->windows + t->size * t->pixels;
    b.groups = t->size / 4;
    if (paired != 0) {
        block(&b, t->pixels);
    }
    if (paired != p->output_channels) {
        b.filter += paired * b.groups;
        b.output = last;
        b.output_channels = 2;
        b.end = last + 2;
        block(&b, t->pixels);
        for (int32_t pixel = 0; pixel < t->pixels; ++pixel) {
            output[paired + pixel * p->output_channels] = last[2 * pixel];
        }
    }
}

void kibi_conv2d_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_blocks_params *params, void *scratch)
{
    const kibi_conv2d_s8_blocks_params *const p = params;
    task t;
    t.params = p;
    t.rows = rows;
    t.start = -p->pad;
    t.size = (p->kernel_rows * p->kernel_width * p->input_channels + 3) & ~3;
    t.run = p->kernel_width * p->input_channels;
    t.windows = (int16_t *)scratch;
    t.staged = (int8_t *)(t.windows + t.size * p->pixels);
    KIBI_ASSERT(p->output_width > 1 && scratch != NULL);
    for (int32_t left = p->output_width; left > 0; left -= t.pixels) {
        t.pixels = left == 2 || left == 4 ? 2 : p->pixels;
        widen_windows(&t);
        channels(output, &t);
        t.start += t.pixels * p->stride;
        output += t.pixels * p->output_channels;
    }
}
