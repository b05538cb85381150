/* CONV_2D, int8, two pixels in the halves of a word, in plain C: one multiplication makes a product of both. For cores whose registers
 * hold a block, without instructions for several products. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_halves_channels_s8.h"

enum { GROUP = 4, FLAGS = 32 };

/* A block: up to six neighbouring pixels. */
typedef struct {
    const kibi_conv2d_s8_halves_params *params;
    const int8_t *const *rows;
    uint32_t *words; /* [groups of elements][slots][4]: each slot has two pixels, or, the last one of an odd number, one */
    int32_t slots;
    int32_t start;  /* column at which the first pixel's window begins */
    int32_t pixels; /* of the block */
} block;

/* The input's elements from a column on; outside of it, padding. */
static inline const int8_t *elements_at(const kibi_conv2d_s8_halves_params *p, const int8_t *row, int32_t column)
{
    return column >= 0 && column < p->input_width ? row + column * p->input_channels : KIBI_AT(int8_t, p, padding);
}

/* Writes a slot's words of elements from the one at `place` of its group on. `second` is null where a pixel is alone. */
static KIBI_NOINLINE void join(uint32_t *to, int32_t slots, const int8_t *first, const int8_t *second, int32_t count, int32_t place)
{
    static const int8_t nothing[GROUP] = {0, 0, 0, 0};
    const int32_t others = second == NULL ? 0 : -1;
    const int8_t *const end = first + count;
    second = second == NULL ? nothing : second;
    to += place;
    do {
        const int32_t left = (int32_t)(end - first);
        int32_t run = GROUP - place;
        run = left < run ? left : run;
        place = 0;
        if (run == GROUP) {
            const int8_t *const whole = first + left / GROUP * GROUP;
            do {
                to[0] = (uint32_t)first[0] + ((uint32_t)second[0] << 16);
                to[1] = (uint32_t)first[1] + ((uint32_t)second[1] << 16);
                to[2] = (uint32_t)first[2] + ((uint32_t)second[2] << 16);
                to[3] = (uint32_t)first[3] + ((uint32_t)second[3] << 16);
                to += GROUP * slots;
                first += GROUP;
                second += GROUP & others;
            } while (first != whole);
        } else {
            for (int32_t i = 0; i < run; ++i) {
                *to++ = (uint32_t)first[i] + ((uint32_t)second[i] << 16);
            }
            to += GROUP * (slots - 1);
            first += run;
            second += run & others;
        }
    } while (first != end);
}

/* Writes a slot's words of `taps` taps of a row, which begin at `column` of the input for its first pixel, from element `done` of the
 * windows on. Taps that are inside for both pixels are read as one, if they are neighbours. */
static inline void write_slot(const block *b, int32_t slot, int32_t done, const int8_t *row, int32_t column, int32_t taps)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t distance = 2 * slot + 1 == b->pixels ? 0 : p->stride;
    int32_t together;
    do {
        const int32_t other = column + distance;
        const int32_t place = done % GROUP;
        together = 1;
        if (p->dilation == 1 && column >= 0 && other < p->input_width) {
            const int32_t room = p->input_width - other;
            together = room < taps ? room : taps;
        }
        join(b->words + (done - place) * b->slots + GROUP * slot, b->slots, elements_at(p, row, column),
             2 * slot + 1 == b->pixels ? NULL : elements_at(p, row, other), together * p->input_channels, place);
        done += together * p->input_channels;
        column += together * p->dilation;
        taps -= together;
    } while (taps != 0);
}

/* Writes the words of `taps` taps, from the one with that number on. What follows the last element in its group has weights of 0. */
static KIBI_NOINLINE void gather(const block *b, int32_t tap, int32_t taps)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t end = tap + taps;
    int32_t done = 0;
    while (tap < end) {
        const int32_t row = tap / p->kernel_width;
        const int32_t first = tap - row * p->kernel_width;
        const int32_t room = p->kernel_width - first;
        const int32_t count = end - tap < room ? end - tap : room;
        int32_t column = b->start + first * p->dilation;
        for (int32_t slot = 0; slot < b->slots; ++slot) {
            write_slot(b, slot, done, b->rows[row], column, count);
            column += 2 * p->stride;
        }
        done += count * p->input_channels;
        tap += count;
    }
    while (done % GROUP != 0) {
        for (int32_t slot = 0; slot < b->slots; ++slot) {
            b->words[(done / GROUP * b->slots + slot) * GROUP + done % GROUP] = 0;
        }
        ++done;
    }
}

/* The products of a piece of all windows of the block: `taps` taps from the one with that number on. kept: the sums of all channels,
 * where windows have several pieces. */
static void piece(int8_t *output, const block *b, int32_t tap, int32_t taps, uint32_t *kept)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t all = p->kernel_rows * p->kernel_width;
    const int32_t groups = (all * p->input_channels + GROUP - 1) / GROUP;
    const int32_t first = tap * p->input_channels / GROUP;
    kibi_halves_block of;
    gather(b, tap, taps);
    of.words = b->words;
    of.filter = KIBI_AT(int8_t, p, filter) + 2 * GROUP * first;
    of.breaks = (const uint32_t *)KIBI_AT(int32_t, p, breaks) + first / FLAGS;
    of.bias = tap == 0 ? KIBI_AT(int32_t, p, bias) : NULL;
    of.sums = kept;
    of.multiplier = KIBI_AT(int32_t, p, multiplier);
    of.shift = KIBI_AT(int8_t, p, shift);
    of.output = output + (b->pixels - 1) * p->output_channels;
    of.channels = p->output_channels;
    of.filter_bytes = 2 * GROUP * ((taps * p->input_channels + GROUP - 1) / GROUP);
    of.filter_step = 2 * GROUP * groups;
    of.breaks_step = (groups + FLAGS - 1) / FLAGS * (int32_t)sizeof(uint32_t);
    of.sums_step = taps == all ? 0 : 4 * b->slots * (int32_t)sizeof(uint32_t);
    of.first = first % FLAGS;
    of.first_bytes = 2 * GROUP * (FLAGS - of.first);
    of.pixels = b->pixels;
    of.finishes = tap + taps == all;
    of.output_channels = p->output_channels;
    of.last = (b->pixels - 1) * p->output_channels;
    of.rounding = 2 * p->output_zero_point + 1;
    of.low = p->activation_min;
    of.high = p->activation_max;
    kibi_halves_channels_s8(&of);
}

void kibi_conv2d_s8_halves(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_halves_params *params, void *scratch)
{
    const kibi_conv2d_s8_halves_params *const p = params;
    const int32_t all = p->kernel_rows * p->kernel_width;
    const int32_t kept = p->taps == all ? 0 : 2 * (p->output_channels + p->output_channels % 2) * ((p->pixels + 1) / 2);
    block b;
    b.params = p;
    b.rows = rows;
    b.words = (uint32_t *)scratch + kept;
    for (int32_t x = 0; x < p->output_width; x += b.pixels) {
        const int32_t left = p->output_width - x;
        b.pixels = left < p->pixels ? left : p->pixels;
        b.slots = (b.pixels + 1) / 2;
        b.start = x * p->stride - p->pad;
        for (int32_t tap = 0; tap < all; tap += p->taps) {
            piece(output, &b, tap, all - tap < p->taps ? all - tap : p->taps, (uint32_t *)scratch);
        }
        output += b.pixels * p->output_channels;
    }
}
