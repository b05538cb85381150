/* CONV_2D with a kernel three columns wide, int8, Armv7E-M, from constants that are packed for blocks that share columns.
 * Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_block_pixels.h"
#include "kibi_column_pointers.h"
#include "kibi_conv2d_s8_columns_block.h"
#include "kibi_widen4_columns_s8.h"
#include "kibi_widen5_columns_s8.h"
#include "kibi_widen6_columns_s8.h"
#include "kibi_widen9_columns_s8.h"

/* A part that a library leaves out where no layer has an odd number of output channels. */
#ifndef KIBI_CONV2D_COLUMNS_OF_ODD_CHANNELS
#define KIBI_CONV2D_COLUMNS_OF_ODD_CHANNELS 1
#endif

enum {
    MOST_PIXELS = 4,
    MORE_COLUMNS = 2,
    APART_COLUMNS = 2 * MOST_PIXELS + 1,
    LEAST_KEPT = 3 /* pixels of a pair for which sums have room */
};

/* Columns from one window to the next, 1 or 2. Where no layer has 2, the answer is a constant. */
static inline int32_t stride_of(const kibi_conv2d_s8_columns_params *p)
{
    return KIBI_CONV2D_COLUMNS_TWO_APART ? p->stride : 1;
}

/* Columns that a block of so many pixels looks at. */
static inline int32_t columns_for(const kibi_conv2d_s8_columns_params *p, int32_t pixels)
{
    return (pixels - 1) * stride_of(p) + 1 + MORE_COLUMNS;
}

/* The address 8 bytes before. */
static inline uint32_t address_before(const void *place)
{
    return (uint32_t)(uintptr_t)place - 8u;
}

/* Widens the columns of a pass in one row for windows two columns apart, three at a time: first those with an odd number.
 * columns: room for three pointers. */
static inline int16_t *widen_apart(int16_t *to, const int8_t **columns, const int8_t *row,
                                   const kibi_conv2d_s8_columns_params *p, int32_t start)
{
    int32_t place = 0;
    int16_t *end;
    do {
        for (int32_t i = 0; i < 3; ++i) {
            const int32_t column = start + 2 * place + (place < MOST_PIXELS ? 1 : -2 * MOST_PIXELS);
            kibi_column_pointers(columns + i, 1, row, column, p->input_width, p->input_channels, KIBI_AT(int8_t, p, padding));
            ++place;
        }
        end = kibi_widen9_columns_s8(to, columns, p->channels_at_once);
        to += 2 * 3;
    } while (place != APART_COLUMNS);
    return end - 2 * (APART_COLUMNS - 3);
}

/* Widens the columns of a pass, which begins at channel `first` of the rows; returns what is after them. */
static KIBI_NOINLINE int16_t *widen(int16_t *to, const int8_t *const *rows, const kibi_conv2d_s8_columns_params *p,
                                   int32_t first, int32_t start, int32_t pixels)
{
    const int8_t *columns[MOST_PIXELS + MORE_COLUMNS];
    const int8_t *const *const end = rows + p->rows_at_once;
    const int32_t depth = p->input_channels;
    const int32_t distance = start >= 0 && start + pixels + MORE_COLUMNS <= p->input_width ? depth : 0;
    do {
        const int8_t *const row = *rows + first;
        const void *from = columns;
        if (KIBI_CONV2D_COLUMNS_TWO_APART && p->stride == 2) {
            to = widen_apart(to, columns, row, p, start);
            continue;
        }
        if (distance != 0) {
            from = row + start * depth;
        } else {
            kibi_column_pointers(columns, pixels + MORE_COLUMNS, row, start, p->input_width, depth,
                                 KIBI_AT(int8_t, p, padding));
        }
        if (KIBI_CONV2D_COLUMNS_OF_4 && pixels == 4) {
            to = kibi_widen6_columns_s8(to, from, distance, p->channels_at_once);
        } else if (pixels == 3) {
            to = kibi_widen5_columns_s8(to, from, distance, p->channels_at_once);
        } else {
            to = kibi_widen4_columns_s8(to, from, distance, p->channels_at_once);
        }
    } while (++rows != end);
    return to;
}

/* Computes the last one of an odd number of channels, after `paired` others, and throws its neighbour away. */
static KIBI_NOINLINE void odd_channel(kibi_conv2d_s8_columns_task *b, int32_t paired, int32_t pixels)
{
    int8_t *const output = b->output;
    const int32_t distance = b->distance;
    const int32_t sums = (pixels == MOST_PIXELS ? MOST_PIXELS : LEAST_KEPT) * paired;
    int8_t last[2 * MOST_PIXELS];
    b->sums += sums;
    b->output = last;
    b->distance = 2;
    b->end = last + 2;
    kibi_conv2d_s8_columns_block(b);
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        output[paired + pixel * distance] = last[2 * pixel];
    }
    b->sums -= sums;
    b->output = output;
    b->distance = distance;
}

#if KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE
/* Adds the next block of four pixels to one whose columns are widened, if it follows and there is scratch for it; returns where its
 * columns are to be widened, or null. The caller widens them: a frame of this function's own would add to the deepest stack. */
static inline int16_t *add_block(kibi_conv2d_s8_columns_task *b, const kibi_conv2d_s8_columns_params *p, void *scratch,
                                 int32_t left)
{
    const int has_halves = (b->groups & 1) == 0 && b->groups >= 4; /* a plan file may ask for blocks where there are none */
    if (p->blocks == 1 || !has_halves || (p->output_channels & 1) != 0 || left < 2 * MOST_PIXELS ||
        kibi_block_pixels(left - MOST_PIXELS, p->pixels) != MOST_PIXELS) {
        return NULL;
    }
    b->half = b->columns + (uint32_t)(b->groups / 4 * 2 * 8 * columns_for(p, MOST_PIXELS));
    b->flags |= KIBI_PASS_TWO;
    return (int16_t *)scratch + p->kernel_rows * p->input_channels * columns_for(p, MOST_PIXELS);
}
#endif

/* Computes `count` channels of a block, or of two, from widened columns. */
static inline void channels(kibi_conv2d_s8_columns_task *b, int32_t count, int32_t pixels)
{
    const int is_odd = KIBI_CONV2D_COLUMNS_OF_ODD_CHANNELS && (count & 1) != 0;
    const int32_t sums = KIBI_CONV2D_COLUMNS_IN_PASSES ? (int32_t)(b->flags & KIBI_PASS_TO_SUMS) : 0;
    const int32_t paired = is_odd ? count + (sums == 0 ? -1 : 1) : count;
    b->end = b->output + paired;
    if (paired != 0) {
        b->stream = kibi_conv2d_s8_columns_block(b);
    }
    if (is_odd && sums == 0) {
        odd_channel(b, paired, pixels);
    }
}

/* Sets what a task has of a layer: all but its block, its channels and its way through them. */
static KIBI_NOINLINE void begin_row(kibi_conv2d_s8_columns_task *b, const kibi_conv2d_s8_columns_params *p, void *scratch)
{
    const uint32_t each = 0x01010101u;
    const int32_t elements = p->rows_at_once * p->channels_at_once;
    b->columns = address_before(scratch);
    b->zero_point = p->output_zero_point;
    b->sums = (int32_t *)scratch + columns_for(p, p->pixels) * elements / 2;
    b->groups = elements / 4;
    b->low = (uint8_t)p->activation_min * each;
    b->high = (uint8_t)p->activation_max * each;
}

static inline int32_t flags_of(const kibi_conv2d_s8_columns_params *p, int32_t pixels)
{
    const int32_t clamps = p->activation_min != INT8_MIN || p->activation_max != INT8_MAX ? KIBI_PASS_CLAMPS : 0;
    const int32_t apart = stride_of(p) == 2 ? KIBI_PASS_TWO_APART : 0;
    return clamps + apart + (pixels == 4 ? KIBI_PASS_FOUR : pixels == 3 ? KIBI_PASS_THREE : 0);
}

#if KIBI_CONV2D_COLUMNS_IN_PASSES
/* Where outputs wait: after the sums. */
static inline int8_t *waiting_of(const kibi_conv2d_s8_columns_task *b, const kibi_conv2d_s8_columns_params *p)
{
    const int32_t kept = p->pixels == MOST_PIXELS ? MOST_PIXELS : LEAST_KEPT;
    return (int8_t *)(b->sums + kept * ((p->outputs_at_once + 1) / 2 * 2));
}

/* How many channels are computed together from number `begin` on: fewer than others come first where all are no multiple. */
static inline int32_t channels_from(const kibi_conv2d_s8_columns_params *p, int32_t begin)
{
    const int32_t fewer = (p->output_channels - begin) % p->outputs_at_once;
    return fewer != 0 ? fewer : p->outputs_at_once;
}

/* Copies all outputs of a block but those of the last channels from where they waited. */
static KIBI_NOINLINE void write(int8_t *output, const int8_t *waiting, const kibi_conv2d_s8_columns_params *p, int32_t pixels)
{
    int32_t begin = 0;
    while (begin != p->output_channels - p->outputs_at_once) {
        const int32_t count = channels_from(p, begin);
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            for (int32_t i = 0; i < count; ++i) {
                output[begin + pixel * p->output_channels + i] = *waiting++;
            }
        }
        begin += count;
    }
}

/* Where the columns of a task are. */
static inline int16_t *columns_of(const kibi_conv2d_s8_columns_task *b)
{
    return (int16_t *)(uintptr_t)(b->columns + 8u);
}

/* What a pass has of each pair: its weights, after both starts in the first pass, and before both multipliers in the last one. */
static inline int32_t pair_words(const kibi_conv2d_s8_columns_task *b)
{
    return 6 * b->groups + ((b->flags & KIBI_PASS_FROM_SUMS) != 0 ? 0 : 2) + ((b->flags & KIBI_PASS_TO_SUMS) != 0 ? 0 : 2);
}

/* Computes some channels of a block after the others, and each in passes over its windows; sums are kept in between. What is easy to
 * find again is not kept over the calls, for the sake of the stack. */
static KIBI_NOINLINE void in_passes(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_columns_params *p, void *scratch)
{
    int32_t pixels;
    kibi_conv2d_s8_columns_task b;
    begin_row(&b, p, scratch);
    for (int32_t left = p->output_width; left > 0; left -= pixels) {
        int32_t begin = 0;
        pixels = kibi_block_pixels(left, p->pixels);
        b.flags = flags_of(p, pixels);
        do {
            const int32_t *pass = KIBI_AT(int32_t, p, stream);
            const int8_t *const *row = rows;
            const int32_t count = channels_from(p, begin);
            int32_t first = 0;
            b.output = output + begin;
            b.distance = p->output_channels;
            if (begin + count != p->output_channels) {
                b.output = waiting_of(&b, p) + begin * pixels;
                b.distance = count;
            }
            b.flags += KIBI_PASS_TO_SUMS;
            do {
                b.columns_end = address_before(widen(columns_of(&b), row, p, first,
                                                     (p->output_width - left) * stride_of(p) - p->pad, pixels));
                first += p->channels_at_once;
                if (first == p->input_channels) {
                    first = 0;
                    row += p->rows_at_once;
                    if (row == rows + p->kernel_rows) {
                        b.flags -= KIBI_PASS_TO_SUMS;
                    }
                }
                b.stream = pass + begin / 2 * pair_words(&b);
                pass += (p->output_channels + 1) / 2 * pair_words(&b);
                channels(&b, channels_from(p, begin), pixels);
                b.flags |= KIBI_PASS_FROM_SUMS;
            } while ((b.flags & KIBI_PASS_TO_SUMS) != 0);
            b.flags -= KIBI_PASS_FROM_SUMS;
            begin += channels_from(p, begin);
        } while (begin != p->output_channels);
        write(output, waiting_of(&b, p), p, pixels);
        output += pixels * p->output_channels;
    }
}
#endif

void kibi_conv2d_s8_columns(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_columns_params *params,
                            void *scratch)
{
    const kibi_conv2d_s8_columns_params *const p = params;
    int32_t start = -p->pad;
    int32_t pixels;
    kibi_conv2d_s8_columns_task b;
    KIBI_ASSERT(p->output_width > 1 && scratch != NULL);
#if KIBI_CONV2D_COLUMNS_IN_PASSES
    if (p->rows_at_once * p->channels_at_once != p->kernel_rows * p->input_channels) {
        in_passes(output, rows, p, scratch);
        return;
    }
#endif
    begin_row(&b, p, scratch);
    b.output = output;
    b.distance = p->output_channels;
    for (int32_t left = p->output_width; left > 0; left -= pixels) {
        pixels = kibi_block_pixels(left, p->pixels);
        b.flags = flags_of(p, pixels);
        b.columns_end = address_before(widen((int16_t *)scratch, rows, p, 0, start, pixels));
#if KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE
        if (pixels == MOST_PIXELS) {
            int16_t *const second = add_block(&b, p, scratch, left);
            if (second != NULL) {
                b.last = address_before(widen(second, rows, p, 0, start + MOST_PIXELS * stride_of(p), MOST_PIXELS));
                pixels = 2 * MOST_PIXELS;
            }
        }
#endif
        b.stream = KIBI_AT(int32_t, p, stream);
        channels(&b, p->output_channels, pixels);
        start += pixels * stride_of(p);
        b.output += pixels * p->output_channels;
    }
}
