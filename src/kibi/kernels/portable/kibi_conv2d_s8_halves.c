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

/* Where the elements of a tap are for the pixel of the block with that number; outside of the input, padding. */
static inline const int8_t *tap_of(const block *b, int32_t pixel, const int8_t *row, int32_t column)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t at = b->start + pixel * p->stride + column * p->dilation;
    return at >= 0 && at < p->input_width ? row + at * p->input_channels : KIBI_AT(int8_t, p, padding);
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

/* Writes the words of `count` elements, from the one with number `done` on, which are in `row` and from `column` of the kernel on. */
static inline void write_words(const block *b, int32_t done, const int8_t *row, int32_t column, int32_t count)
{
    const int32_t place = done % GROUP;
    uint32_t *to = b->words + (done - place) * b->slots;
    int32_t pixel = 0;
    do {
        const int8_t *const first = tap_of(b, pixel, row, column);
        const int8_t *const second = ++pixel == b->pixels ? NULL : tap_of(b, pixel, row, column);
        join(to, b->slots, first, second, count, place);
        to += GROUP;
    } while (++pixel < b->pixels);
}

/* Writes the words of `taps` taps, from the one with that number on. Taps that are neighbours in the input are read as one. What follows
 * the last element in its group has weights of 0. */
static KIBI_NOINLINE void gather(const block *b, int32_t tap, int32_t taps)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t last = b->start + (b->pixels - 1) * p->stride + p->kernel_width - 1;
    const int are_neighbours = p->dilation == 1 && b->start >= 0 && last < p->input_width;
    const int32_t end = tap + taps;
    int32_t done = 0;
    while (tap < end) {
        const int32_t row = tap / p->kernel_width;
        const int32_t column = tap % p->kernel_width;
        const int32_t room = p->kernel_width - column;
        const int32_t left = end - tap;
        const int32_t together = !are_neighbours ? 1 : left < room ? left : room;
        write_words(b, done, b->rows[row], column, together * p->input_channels);
        done += together * p->input_channels;
        tap += together;
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
    of.output = output;
    of.channels = p->output_channels;
    of.groups = (taps * p->input_channels + GROUP - 1) / GROUP;
    of.filter_step = 2 * GROUP * groups;
    of.breaks_step = (groups + FLAGS - 1) / FLAGS * (int32_t)sizeof(uint32_t);
    of.sums_step = taps == all ? 0 : 4 * b->slots * (int32_t)sizeof(uint32_t);
    of.first = first % FLAGS;
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
