/* CONV_2D, int8, two pixels in the halves of a word, in plain C: one multiplication makes a product of both. For cores whose registers
 * hold a block, without instructions for several products. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_add_halves_s8.h"
#include "kibi_requantize.h"

enum { MOST_PAIRS = 3, GROUP = 4, FLAGS = 32 };

/* A block: up to six neighbouring pixels, in pairs; the last pixel may be missing. */
typedef struct {
    const kibi_conv2d_s8_halves_params *params;
    const int8_t *const *rows;
    uint32_t *words; /* [elements][pairs]: of each pair, the first pixel's element plus 2**16 times the second one's */
    int32_t pairs;
    int32_t start;  /* column at which the first pixel's window begins */
    int32_t pixels; /* of the block */
} block;

/* Where the elements of a tap are for the pixel of the block with that number; outside of the input, padding. */
static inline const int8_t *tap_of(const block *b, int32_t pixel, const int8_t *row, int32_t column)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t at = b->start + (pixel < b->pixels ? pixel : 0) * p->stride + column * p->dilation;
    return at >= 0 && at < p->input_width ? row + at * p->input_channels : KIBI_AT(int8_t, p, padding);
}

/* Writes the words of one pair's elements, `step` words from one to the next. */
static KIBI_NOINLINE void join(uint32_t *to, int32_t step, const int8_t *first, const int8_t *second, int32_t count)
{
    const int8_t *const end = first + count;
    KIBI_UNROLL_TWICE
    do {
        *to = kibi_both_halves(*first++, *second++);
        to += step;
    } while (first != end);
}

/* Writes the words of `taps` taps, from the one with that number on, and of elements whose weights are 0 up to whole groups. Taps that
 * are neighbours in the input are read as one. */
static KIBI_NOINLINE void gather(const block *b, int32_t tap, int32_t taps)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t last = b->start + (b->pixels - 1) * p->stride + p->kernel_width - 1;
    const int are_neighbours = p->dilation == 1 && b->start >= 0 && last < p->input_width;
    const int32_t end = tap + taps;
    uint32_t *to = b->words;
    while (tap < end) {
        const int32_t row = tap / p->kernel_width;
        const int32_t column = tap % p->kernel_width;
        const int32_t room = p->kernel_width - column;
        const int32_t left = end - tap;
        const int32_t together = !are_neighbours ? 1 : left < room ? left : room;
        const int32_t count = together * p->input_channels;
        for (int32_t pair = 0; pair < b->pairs; ++pair) {
            join(to + pair, b->pairs, tap_of(b, 2 * pair, b->rows[row], column),
                 tap_of(b, 2 * pair + 1, b->rows[row], column), count);
        }
        to += count * b->pairs;
        tap += together;
    }
    for (int32_t rest = taps * p->input_channels; rest % GROUP != 0; ++rest) {
        for (int32_t pair = 0; pair < b->pairs; ++pair) {
            *to++ = 0;
        }
    }
}

/* Adds the products of the groups from `group` up to `end` to the sums of two channels and a block. w: of both, from the first of these
 * groups on. breaks: a bit for each group. bias: null where sums were kept. */
static inline void add_groups(uint32_t *sums, const block *b, const int8_t *w, const uint32_t *breaks, int32_t group, int32_t end,
                              const int32_t *bias)
{
    const uint32_t *x = b->words;
    for (;;) {
        const int32_t left = end - group;
        const int32_t room = FLAGS - group % FLAGS;
        const int32_t count = left < room ? left : room;
        kibi_add_halves_s8(sums, w, x, count, breaks[group / FLAGS] << group % FLAGS, b->pairs, bias);
        if (left <= room) {
            return;
        }
        bias = NULL;
        group += count;
        w += 2 * GROUP * count;
        x += GROUP * count * b->pairs;
    }
}

/* The outputs of a channel and the next, if there is one, for the pixels of a block. */
static KIBI_NOINLINE void finish(int8_t *output, const uint32_t *sums, const block *b, int32_t channel)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t zero_point = p->output_zero_point;
    const int32_t low = p->activation_min;
    const int32_t high = p->activation_max;
    const int32_t step = p->output_channels;
    const int32_t pixels = b->pixels;
    const int32_t pairs = b->pairs;
    const int32_t end = channel + 2 < step ? channel + 2 : step;
    do {
        const int32_t multiplier = KIBI_AT(int32_t, p, multiplier)[channel];
        const int32_t shift = KIBI_AT(int8_t, p, shift)[channel];
        const uint32_t *from = sums;
        int8_t *to = output + channel;
        do {
            const int32_t scaled = kibi_requantize((int32_t)*from++, multiplier, shift);
            *to = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, zero_point), low, high);
            to += step;
        } while (from != sums + pixels);
        sums += 2 * pairs;
    } while (++channel != end);
}

/* The products of a piece of all windows of the block: `taps` taps from the one with that number on. kept: the sums of all channels,
 * where windows have several pieces. */
static void piece(int8_t *output, const block *b, int32_t tap, int32_t taps, uint32_t *kept)
{
    const kibi_conv2d_s8_halves_params *const p = b->params;
    const int32_t all = p->kernel_rows * p->kernel_width;
    const int32_t groups = (all * p->input_channels + GROUP - 1) / GROUP;
    const int32_t first = tap * p->input_channels / GROUP;
    const int32_t end = tap + taps == all ? groups : (tap + taps) * p->input_channels / GROUP;
    const int32_t channels = p->output_channels;
    const int8_t *w = KIBI_AT(int8_t, p, filter) + 2 * GROUP * first;
    const uint32_t *breaks = (const uint32_t *)KIBI_AT(int32_t, p, breaks);
    const int32_t *bias = tap == 0 ? KIBI_AT(int32_t, p, bias) : NULL;
    uint32_t own[4 * MOST_PAIRS];
    gather(b, tap, taps);
    for (int32_t channel = 0; channel < channels; channel += 2) {
        uint32_t *const sums = taps == all ? own : kept;
        add_groups(sums, b, w, breaks, first, end, bias);
        if (tap + taps == all) {
            finish(output, sums, b, channel);
        }
        w += 2 * GROUP * groups;
        breaks += (groups + FLAGS - 1) / FLAGS;
        bias = bias == NULL ? NULL : bias + 2;
        kept += 4 * b->pairs;
    }
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
        b.pairs = (b.pixels + 1) / 2;
        b.start = x * p->stride - p->pad;
        for (int32_t tap = 0; tap < all; tap += p->taps) {
            piece(output, &b, tap, all - tap < p->taps ? all - tap : p->taps, (uint32_t *)scratch);
        }
        output += b.pixels * p->output_channels;
    }
}
