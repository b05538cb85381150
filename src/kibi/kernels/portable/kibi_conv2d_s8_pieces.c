/* CONV_2D, int8, from constants that are packed for blocks, a piece of two windows at a time: their sums are kept in between, so
 * that windows of any size need little scratch. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_add_pieces_s8.h"
#include "kibi_finish_pieces_s8.h"
#include "kibi_round_once.h"
#include "kibi_widen2_s8.h"

/* The two pixels whose first window starts at column `start`; where a row has only one left, the second window is the first, too. */
typedef struct {
    const kibi_conv2d_s8_pieces_params *params;
    const int8_t *const *rows;
    int32_t start;
    int32_t distance;  /* columns from one window to the other */
    int32_t is_inside; /* true if each row of both windows is in one piece */
    kibi_finish_pieces end;
} block;

/* What is left of both windows: the rest of a run of neighbours, then the runs from a row's column on. */
typedef struct {
    const int8_t *from[2];
    int32_t left; /* elements of that run */
    const int8_t *const *row;
    int32_t column; /* of the window; 0 where a run is a whole row */
} cursor;

/* The first element of a column, which may be outside. */
static inline const int8_t *column_of(const kibi_conv2d_s8_pieces_params *p, const int8_t *row, int32_t column)
{
    return column >= 0 && column < p->input_width ? row + column * p->input_channels : KIBI_AT(int8_t, p, padding);
}

/* The next run: all elements of a row, or the channels of a column where windows reach outside or have gaps. */
static KIBI_NOINLINE void next_run(cursor *at, const block *b)
{
    const kibi_conv2d_s8_pieces_params *const p = b->params;
    const int8_t *const row = *at->row;
    if (b->is_inside != 0) {
        at->from[0] = row + b->start * p->input_channels;
        at->from[1] = at->from[0] + b->distance * p->input_channels;
        at->left = p->kernel_width * p->input_channels;
        ++at->row;
    } else {
        const int32_t column = b->start + at->column * p->dilation;
        at->from[0] = column_of(p, row, column);
        at->from[1] = column_of(p, row, column + b->distance);
        at->left = p->input_channels;
        if (++at->column == p->kernel_width) {
            at->column = 0;
            ++at->row;
        }
    }
}

/* Widens `count` elements of both windows. */
static inline int16_t *widen(int16_t *to, const block *b, cursor *at, int32_t count)
{
    while (count > 0) {
        int32_t elements;
        if (at->left == 0) {
            next_run(at, b);
        }
        elements = at->left < count ? at->left : count;
        to = kibi_widen2_s8(to, at->from, elements);
        count -= elements;
        at->left -= elements;
        at->from[0] += elements;
        at->from[1] += elements;
    }
    return to;
}

/* Sets the sums of pairs of channels to what they start from. */
static inline void begin(kibi_add_pieces *task, const int32_t *channel)
{
    for (int32_t *sum = task->sums; sum != task->sums_end; sum += 4) {
        const int32_t first = channel[0];
        const int32_t second = channel[1];
        sum[0] = first;
        sum[1] = second;
        sum[2] = first;
        sum[3] = second;
        channel += 4;
    }
}

/* Writes the outputs of `count` channels, in pairs; the last one of an odd number by itself. */
static inline void finish(int8_t *output, block *b, const kibi_add_pieces *sums, int32_t count)
{
    const int32_t second = b->end.second;
    b->end.output = output;
    b->end.sums = sums->sums;
    b->end.sums_end = sums->sums + count / 2 * 4;
    if (count > 1) {
        kibi_finish_pieces_s8(&b->end);
    }
    if (count % 2 != 0) {
        int8_t both[4];
        b->end.channels += count / 2 * 4;
        b->end.output = both;
        b->end.second = 2;
        b->end.sums = b->end.sums_end;
        b->end.sums_end = sums->sums_end;
        kibi_finish_pieces_s8(&b->end);
        b->end.second = second;
        output[count - 1 + second] = both[2];
        output[count - 1] = both[0];
    }
}

/* Computes so many channels, in pairs, from number `first` on. */
static KIBI_NOINLINE void channels(int8_t *output, block *b, int32_t first, int32_t count, int32_t *sums)
{
    const kibi_conv2d_s8_pieces_params *const p = b->params;
    const int32_t size = p->kernel_rows * p->kernel_width * p->input_channels;
    const int32_t *filter = KIBI_AT(int32_t, p, filter);
    const int32_t pairs = (p->output_channels + 1) / 2;
    cursor at;
    kibi_add_pieces task;
    at.left = 0;
    at.row = b->rows;
    at.column = 0;
    task.sums = sums;
    task.sums_end = sums + (count + 1) / 2 * 4;
    task.windows = (int16_t *)(sums + 4 * p->pairs_at_once);
    b->end.channels = KIBI_AT(int32_t, p, channels) + first / 2 * 4;
    begin(&task, b->end.channels);
    for (int32_t left = size; left > 0;) {
        const int32_t elements = left < p->elements_at_once ? left : p->elements_at_once;
        task.windows_end = widen((int16_t *)(sums + 4 * p->pairs_at_once), b, &at, elements);
        task.filter = filter + first / 2 * (elements / 2);
        kibi_add_pieces_s8(&task);
        filter += pairs * (elements / 2);
        left -= elements;
    }
    finish(output + first, b, &task, count);
}

void kibi_conv2d_s8_pieces(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_pieces_params *params,
                           void *scratch)
{
    const kibi_conv2d_s8_pieces_params *const p = params;
    const uint32_t each = 0x01010101u;
    block b;
    b.params = p;
    b.rows = rows;
    b.start = -p->pad;
    b.end.zero_point = p->output_zero_point * (p->rounds_once != 0 ? 1 << KIBI_CONV2D_FRACTION_BITS : 1);
    b.end.rounds_once = p->rounds_once;
    b.end.low = (uint8_t)p->activation_min * each;
    b.end.high = (uint8_t)p->activation_max * each;
    KIBI_ASSERT(scratch != NULL && p->input_channels % 4 == 0 && p->elements_at_once % 4 == 0);
    for (int32_t left = p->output_width; left > 0; left -= 2) {
        int32_t count;
        b.distance = left > 1 ? p->stride : 0;
        b.end.second = left > 1 ? p->output_channels : 0;
        b.is_inside = p->dilation == 1 && b.start >= 0 && b.start + b.distance + p->kernel_width <= p->input_width;
        for (int32_t first = 0; first < p->output_channels; first += count) {
            count = p->output_channels - first;
            count = count < 2 * p->pairs_at_once ? count : 2 * p->pairs_at_once;
            channels(output, &b, first, count, (int32_t *)scratch);
        }
        b.start += 2 * p->stride;
        output += 2 * p->output_channels;
    }
}
