/* CONV_2D, int8, from constants that are packed for blocks, a piece of two windows at a time: their sums are kept in between, so
 * that windows of any size need little scratch. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_add_pieces_s8.h"
#include "kibi_requantize.h"
#include "kibi_widen2_s8.h"

/* The two pixels whose first window starts at column `start`; where a row has only one left, the second window is the first, too. */
typedef struct {
    const kibi_conv2d_s8_pieces_params *params;
    const int8_t *const *rows;
    int32_t start;
    int32_t distance; /* columns from one window to the other */
    int32_t pixels;   /* 2, or 1 */
} block;

/* The first element of a column, which may be outside. */
static inline const int8_t *column_of(const kibi_conv2d_s8_pieces_params *p, const int8_t *row, int32_t column)
{
    return column >= 0 && column < p->input_width ? row + column * p->input_channels : KIBI_AT(int8_t, p, padding);
}

/* Widens `count` elements of both windows from element `first` on: runs of neighbours in a row, or the channels of a column. */
static KIBI_NOINLINE int16_t *widen(int16_t *to, const block *b, int32_t first, int32_t count)
{
    const kibi_conv2d_s8_pieces_params *const p = b->params;
    const int32_t size = p->kernel_width * p->input_channels;
    const int32_t end = b->start + b->distance + p->kernel_width;
    const int is_inside = p->dilation == 1 && b->start >= 0 && end <= p->input_width;
    const int32_t run = is_inside ? size : p->input_channels;
    while (count > 0) {
        const int8_t *const row = b->rows[first / size];
        const int32_t place = first % size;
        const int32_t offset = place % run;
        const int32_t column = b->start + place / run * p->dilation;
        const int8_t *const from[2] = {column_of(p, row, column) + offset, column_of(p, row, column + b->distance) + offset};
        const int32_t elements = run - offset < count ? run - offset : count;
        to = kibi_widen2_s8(to, from, elements);
        first += elements;
        count -= elements;
    }
    return to;
}

/* Sets the sums of pairs of channels to what they start from. */
static inline void begin(kibi_add_pieces *task, const int32_t *channel)
{
    for (int32_t *sum = task->sums; sum != task->sums_end; sum += 4) {
        sum[0] = channel[0];
        sum[1] = channel[1];
        sum[2] = channel[0];
        sum[3] = channel[1];
        channel += 4;
    }
}

/* An output from 256 times its sum, plus ~shift. */
static inline int8_t output_of(int32_t sum, int32_t multiplier, const kibi_conv2d_s8_pieces_params *p)
{
    /* As in kibi_requantize, with a shift to the right. */
    const int32_t high = kibi_multiply_high(sum >> 8, multiplier);
    const int32_t scaled = (((high + (high >> 31)) >> (sum & 31)) + 1) >> 1;
    return (int8_t)kibi_clamp(scaled + p->output_zero_point, p->activation_min, p->activation_max);
}

/* Writes the outputs of `count` channels, in pairs. */
static KIBI_NOINLINE void finish(int8_t *output, const int32_t *sum, int32_t count, const int32_t *channel, const block *b)
{
    const kibi_conv2d_s8_pieces_params *const p = b->params;
    int8_t *const second = output + p->output_channels;
    for (int32_t o = 0; o < count; ++o) {
        const int32_t number = o & 1;
        const int32_t multiplier = channel[2 + number];
        output[o] = output_of(sum[number], multiplier, p);
        if (b->pixels == 2) {
            second[o] = output_of(sum[2 + number], multiplier, p);
        }
        sum += 4 * number;
        channel += 4 * number;
    }
}

/* Computes so many channels, in pairs, from number `first` on. */
static KIBI_NOINLINE void channels(int8_t *output, const block *b, int32_t first, int32_t count, int32_t *sums)
{
    const kibi_conv2d_s8_pieces_params *const p = b->params;
    const int32_t size = p->kernel_rows * p->kernel_width * p->input_channels;
    const int32_t *const constants = KIBI_AT(int32_t, p, channels) + first / 2 * 4;
    int16_t *const windows = (int16_t *)(sums + 4 * p->pairs_at_once);
    kibi_add_pieces task;
    int32_t elements;
    task.sums = sums;
    task.sums_end = sums + (count + 1) / 2 * 4;
    task.windows = windows;
    task.filter = KIBI_AT(int32_t, p, filter) + first / 2 * (size / 2);
    begin(&task, constants);
    for (int32_t done = 0; done < size; done += elements) {
        elements = size - done < p->elements_at_once ? size - done : p->elements_at_once;
        task.windows_end = widen(windows, b, done, elements);
        task.skip = (size - elements) * 2;
        kibi_add_pieces_s8(&task);
        task.filter += elements / 2;
    }
    finish(output + first, sums, count, constants, b);
}

void kibi_conv2d_s8_pieces(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_pieces_params *params,
                           void *scratch)
{
    const kibi_conv2d_s8_pieces_params *const p = params;
    block b;
    b.params = p;
    b.rows = rows;
    b.start = -p->pad;
    KIBI_ASSERT(scratch != NULL && p->input_channels % 4 == 0 && p->elements_at_once % 4 == 0);
    for (int32_t left = p->output_width; left > 0; left -= 2) {
        int32_t count;
        b.pixels = left > 1 ? 2 : 1;
        b.distance = left > 1 ? p->stride : 0;
        for (int32_t first = 0; first < p->output_channels; first += count) {
            count = p->output_channels - first;
            count = count < 2 * p->pairs_at_once ? count : 2 * p->pairs_at_once;
            channels(output, &b, first, count, (int32_t *)scratch);
        }
        b.start += 2 * p->stride;
        output += 2 * p->output_channels;
    }
}
