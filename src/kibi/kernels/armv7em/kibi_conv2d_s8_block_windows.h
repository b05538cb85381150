/* Windows of the pixels of a block, Armv7E-M: where a row of a convolution gathers and widens them. */
#ifndef KIBI_CONV2D_S8_BLOCK_WINDOWS_H
#define KIBI_CONV2D_S8_BLOCK_WINDOWS_H

#include "kibi_block_pixels.h"
#include "kibi_conv2d.h"
#include "kibi_conv2d_s8_pixels.h"
#include "kibi_widen2_s8.h"
#include "kibi_widen3_s8.h"
#include "kibi_widen4_rows_s8.h"
#include "kibi_widen4_s8.h"

/* Parts that a library leaves out where no layer needs them: blocks of these sizes, windows that reach outside or whose rows
 * are no whole words, and those among them with three rows that have one element more than whole words. */
#ifndef KIBI_CONV2D_BLOCKS_OF_2
#define KIBI_CONV2D_BLOCKS_OF_2 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_OF_3
#define KIBI_CONV2D_BLOCKS_OF_3 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_OF_4
#define KIBI_CONV2D_BLOCKS_OF_4 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_AT_EDGES
#define KIBI_CONV2D_BLOCKS_AT_EDGES 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_OF_BYTES
#define KIBI_CONV2D_BLOCKS_OF_BYTES 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_OF_WORDS
#define KIBI_CONV2D_BLOCKS_OF_WORDS 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_OF_THREE_ROWS
#define KIBI_CONV2D_BLOCKS_OF_THREE_ROWS 1
#endif

enum { MOST_PIXELS = 4 };

/* A row that is being computed, and in it the block whose first window starts at column `start`, one of those whose windows are in
 * scratch at once. */
typedef struct {
    const kibi_conv2d_s8_blocks_params *params;
    const int8_t *const *rows;
    int32_t start;
    int32_t pixels;
    int32_t run;    /* neighbouring elements of a window's row */
    int32_t size;   /* a window's elements, rounded up to whole fours */
    int32_t last_inside; /* the last start of a window that is inside its rows in one piece each; -1 if no window is */
    int has_three_rows;  /* true if windows of four pixels are for kibi_widen4_rows_s8 */
    int16_t *windows; /* the block's */
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
    int32_t done; /* pixels whose windows are in scratch */
#endif
    kibi_conv2d_s8_pixels block;
} task;

/* Where windows are gathered that reach outside, and the rests of their rows. */
static inline int8_t *staged_of(const task *t)
{
    const int32_t blocks = KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE ? t->params->blocks : 1;
    return (int8_t *)(uintptr_t)(t->block.windows + t->size * t->params->pixels * blocks);
}

/* The first element of a column, which may be outside. */
static inline const int8_t *column_of(const kibi_conv2d_s8_blocks_params *p, const int8_t *row, int32_t column)
{
    return column >= 0 && column < p->input_width ? row + column * p->input_channels : KIBI_AT(int8_t, p, padding);
}

/* Copies elements: shorter than to call memcpy, which is large. Returns what is after them. */
static inline int8_t *copy(int8_t *to, const int8_t *from, int32_t count)
{
    const int8_t *const end = from + count;
    while (count >= 4) {
        uint32_t word;
        __builtin_memcpy(&word, from, sizeof(word));
        __builtin_memcpy(to, &word, sizeof(word));
        __asm__ volatile(""); /* else the compiler finds memcpy again */
        from += 4;
        to += 4;
        count -= 4;
    }
    while (from != end) {
        *to++ = *from++;
        __asm__ volatile("");
    }
    return to;
}

/* True if a block has that size, 4 or 3. Where a kernel has blocks of one size alone, the answer is a constant. */
static inline int is_size(int32_t size, int32_t pixels)
{
    if (size == 4) {
        return KIBI_CONV2D_BLOCKS_OF_4 && (pixels == 4 || !(KIBI_CONV2D_BLOCKS_OF_3 || KIBI_CONV2D_BLOCKS_OF_2));
    }
    return KIBI_CONV2D_BLOCKS_OF_3 && (pixels == 3 || !KIBI_CONV2D_BLOCKS_OF_2);
}

/* Widens elements of the pixels of a block. */
static KIBI_NOINLINE int16_t *widen_from(int16_t *to, const int8_t *const *from, int32_t count, int32_t pixels)
{
    if (is_size(4, pixels)) {
        return kibi_widen4_s8(to, from, count);
    }
    if (is_size(3, pixels)) {
        return kibi_widen3_s8(to, from, count);
    }
    return KIBI_CONV2D_BLOCKS_OF_2 ? kibi_widen2_s8(to, from, count) : to;
}

/* The same of pixels that are evenly apart. */
static inline int16_t *widen(int16_t *to, const int8_t *from, int32_t distance, int32_t count, int32_t pixels)
{
    const int8_t *const all[MOST_PIXELS] = {from, from + distance, from + 2 * distance, from + 3 * distance};
    return widen_from(to, all, count, pixels);
}

/* True if a window is inside its rows in one piece each. */
static inline int is_inside(const task *t, int32_t start)
{
    return start >= 0 && start <= t->last_inside;
}

/* Gathers windows of `width` columns, column by column: neighbours inside the input, or outside, as one. */
static KIBI_NOINLINE void gather(int8_t *to, const task *t, int32_t start, int32_t width)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t count = 1;
        for (int32_t kx = 0; kx < width; kx += count) {
            const int32_t column = start + kx * p->dilation;
            count = 1;
            if (p->dilation == 1 && column >= 0 && column < p->input_width) {
                const int32_t most = width - kx;
                count = p->input_width - column < most ? p->input_width - column : most;
            }
            to = copy(to, column_of(p, t->rows[ky], column), count * p->input_channels);
        }
    }
}

/* Gathers the block's windows that reach outside; returns a bit for each of them. */
static inline int32_t gather_outside(const task *t, int8_t *staged)
{
    int32_t gathered = 0;
    for (int32_t pixel = 0; pixel < t->pixels; ++pixel) {
        const int32_t start = t->start + pixel * t->params->stride;
        if (!is_inside(t, start)) {
            gather(staged + pixel * t->size, t, start, t->params->kernel_width);
            gathered |= 1 << pixel;
        }
    }
    return gathered;
}

/* Appends the rests of a window's row, for each pixel, to those of the earlier rows. Where there are enough elements, it writes whole
 * words: what a word has too much is replaced by a later rest, or is written before the rows that are still to be read. */
static inline void move_rests(const task *t, int8_t *rests, const int8_t *const *from, int32_t rest)
{
    for (const int8_t *const *const end = from + t->pixels; from != end; ++from) {
        if (t->run >= 4) {
            uint32_t word;
            __builtin_memcpy(&word, *from + t->run - 4, sizeof(word));
            word >>= 32 - 8 * rest;
            __builtin_memcpy(rests, &word, sizeof(word));
        } else {
            copy(rests, *from, rest);
        }
        rests += t->size;
    }
}

/* Widens the block's windows row by row, where pixels are no whole words: first whole fours, then the rests of all rows, side
 * by side. Windows that reach outside are gathered before. */
static KIBI_NOINLINE void widen_bytes(const task *t, int is_at_edge)
{
    int8_t *const staged = staged_of(t);
    const int32_t gathered = KIBI_CONV2D_BLOCKS_AT_EDGES && is_at_edge ? gather_outside(t, staged) : 0;
    const int32_t rest = t->run % 4;
    int16_t *to = t->windows;
    for (int32_t ky = 0; ky < t->params->kernel_rows; ++ky) {
        const int8_t *from[MOST_PIXELS];
        const int8_t *row = t->rows[ky] + t->start * t->params->input_channels;
        const int8_t *of_staged = staged + ky * t->run;
        int32_t are_staged = gathered;
        for (int32_t pixel = 0; pixel < MOST_PIXELS; ++pixel) {
            from[pixel] = are_staged & 1 ? of_staged : row;
            are_staged >>= 1;
            row += t->params->stride * t->params->input_channels;
            of_staged += t->size;
        }
        if (t->run >= 4) {
            to = widen_from(to, from, t->run - rest, t->pixels);
        }
        if (rest != 0) {
            move_rests(t, staged + ky * rest, from, rest);
        }
    }
    if (rest != 0) {
        widen(to, staged, t->size, (t->params->kernel_rows * rest + 3) & ~3, t->pixels);
    }
}

/* True if four windows are for kibi_widen4_rows_s8: three rows with one element besides whole words. Their columns touch, so that at an
 * edge, where all are gathered first, they take no more than the windows, for which there is room. */
static inline int has_three_rows(const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    return p->kernel_rows == 3 && t->run > 4 && t->run % 4 == 1 && p->dilation == 1 && p->stride <= p->kernel_width;
}

/* Widens the windows of such a block. */
static KIBI_NOINLINE void widen_three_rows(const task *t, int is_at_edge)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    const int8_t *const *rows = t->rows;
    const int8_t *from[3];
    int32_t first = t->start * p->input_channels;
    if (KIBI_CONV2D_BLOCKS_AT_EDGES && is_at_edge) {
        const int32_t columns = (MOST_PIXELS - 1) * p->stride + p->kernel_width;
        from[0] = staged_of(t);
        from[1] = from[0] + columns * p->input_channels;
        from[2] = from[1] + columns * p->input_channels;
        gather(staged_of(t), t, t->start, columns);
        rows = from;
        first = 0;
    }
    from[0] = rows[0] + first;
    from[1] = rows[1] + first;
    from[2] = rows[2] + first;
    kibi_widen4_rows_s8(t->windows, from, p->stride * p->input_channels, t->run - 1);
}

/* True if each row of a window is a word, of which at least a byte is inside. */
static inline int has_words(const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    const int32_t first = t->start * p->input_channels;
    const int32_t last = first + (t->pixels - 1) * p->stride * p->input_channels;
    return t->run == 4 && p->dilation == 1 && first > -4 && last < p->input_width * p->input_channels &&
           p->input_width * p->input_channels >= 4;
}

/* Writes the even elements of a word, and after a distance in bytes what the odd ones are made to; returns the place after as much. */
static inline char *widen_word(char *to, uint32_t word, int32_t distance)
{
    uint32_t even;
    __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(word));
    /* A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
    word ^= 0x007F007Fu;
    __builtin_memcpy(to, &even, sizeof(even));
    __builtin_memcpy(to + distance, &word, sizeof(word));
    return to + 2 * distance;
}

static inline uint32_t word_at(const int8_t *from)
{
    uint32_t word;
    __builtin_memcpy(&word, from, sizeof(word));
    return word;
}

/* Widens such windows. Where one reaches outside, the word beside it is shifted to its place, and filled up with zero points. */
static KIBI_NOINLINE void widen_words(const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    const int32_t last = p->input_width * p->input_channels - 4;
    const uint32_t padding = (uint8_t)*KIBI_AT(int8_t, p, padding) * 0x01010101u;
    const int8_t *const *const end = t->rows + p->kernel_rows;
    for (int32_t pixel = 0; pixel < t->pixels; ++pixel) {
        const int32_t first = (t->start + pixel * p->stride) * p->input_channels;
        const int32_t place = first < 0 ? 0 : first > last ? last : first;
        const int32_t up = first < 0 ? -8 * first : 0;
        const int32_t down = 8 * (first - place) + up;
        const uint32_t fill = padding & ~(UINT32_MAX << up >> down);
        const int32_t distance = 4 * t->pixels;
        const int8_t *const *row = t->rows;
        char *to = (char *)(t->windows + 2 * pixel);
        if (first == place) {
            do {
                to = widen_word(to, word_at(*row++ + place), distance);
            } while (row != end);
        } else {
            do {
                to = widen_word(to, (word_at(*row++ + place) << up >> down) | fill, distance);
            } while (row != end);
        }
    }
}

/* Widens the block's windows row by row, where all are inside and pixels are whole words. */
static KIBI_NOINLINE void widen_rows(const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    int16_t *to = t->windows;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        const int8_t *const from = t->rows[ky] + t->start * p->input_channels;
        to = widen(to, from, p->stride * p->input_channels, t->run, t->pixels);
    }
}

/* Widens the block's windows column by column, each pixel's from where it is; channels are whole fours. */
static KIBI_NOINLINE void widen_columns(const task *t)
{
    const kibi_conv2d_s8_blocks_params *const p = t->params;
    int16_t *to = t->windows;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int8_t *from[MOST_PIXELS];
            int32_t column = t->start + kx * p->dilation;
            for (int32_t pixel = 0; pixel < MOST_PIXELS; ++pixel) {
                from[pixel] = column_of(p, t->rows[ky], column);
                column += p->stride;
            }
            to = widen_from(to, from, p->input_channels, t->pixels);
        }
    }
}

static inline void widen_windows(const task *t)
{
    const int32_t last = t->start + (t->pixels - 1) * t->params->stride;
    const int is_at_edge = KIBI_CONV2D_BLOCKS_AT_EDGES && (t->start < 0 || last > t->last_inside);
    const int is_whole = t->params->input_channels % 4 == 0;
    if (KIBI_CONV2D_BLOCKS_OF_WORDS && !is_whole && has_words(t)) {
        widen_words(t);
    } else if (KIBI_CONV2D_BLOCKS_OF_THREE_ROWS && t->has_three_rows && is_size(4, t->pixels)) {
        widen_three_rows(t, is_at_edge);
    } else if (KIBI_CONV2D_BLOCKS_OF_BYTES && !is_whole) {
        widen_bytes(t, is_at_edge);
    } else if (is_at_edge) {
        widen_columns(t);
    } else {
        widen_rows(t);
    }
}

#endif
