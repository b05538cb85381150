/* CONV_2D, int8, portable. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include <string.h>

#include "kibi_dot_1x1_s8.h"
#include "kibi_dot_2x2_s8.h"
#include "kibi_dot_4x1_s8.h"
#include "kibi_requantize.h"

/* What is computed: one group's channels of the pixel whose window starts at column `start`, or of that and the next. */
typedef struct {
    const kibi_conv2d_s8_params *params;
    const int8_t *const *rows;
    int32_t depth; /* input channels of the group, from `first` on */
    int32_t first;
    int32_t channel; /* output channels of the group that are not computed yet, up to `end` */
    int32_t end;
    int32_t start;
    kibi_dot_2x2_s8_inputs inputs; /* the windows, where they are in pieces of the same size */
} task;

/* Finds the columns that can be read as one from kernel column `k` on: neighbours inside the input, or outside. Sets rows,
 * offset and count of the inputs; returns the kernel column after them. */
static KIBI_NOINLINE int32_t find_columns(task *t, int32_t k)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int32_t column = t->start + k * p->dilation;
    const int is_inside = column >= 0 && column < p->input_width;
    int32_t end = k + 1;
    if (p->dilation == 1 && p->groups == 1) {
        end = p->kernel_width;
        if (column < p->input_width) {
            const int32_t edge = (is_inside ? p->input_width : 0) - t->start;
            end = edge < end ? edge : end;
        }
    }
    t->inputs.rows = is_inside ? t->rows : NULL;
    t->inputs.offset = is_inside ? column * p->input_channels + t->first : 0;
    t->inputs.count = (end - k) * t->depth;
    return end;
}

/* A piece of the first input; outside of it, padding. */
static inline const int8_t *piece_of(const task *t, int32_t number)
{
    return t->inputs.rows != NULL ? t->inputs.rows[number] + t->inputs.offset : KIBI_AT(int8_t, t->params, padding);
}

/* Copies the window. */
static KIBI_NOINLINE void gather(task *t, int8_t *patch)
{
    const int32_t run = t->params->kernel_width * t->depth;
    int32_t next;
    for (int32_t k = 0; k < t->params->kernel_width; k = next) {
        int8_t *to = patch + k * t->depth;
        next = find_columns(t, k);
        for (int32_t ky = 0; ky < t->params->kernel_rows; ++ky) {
            (void)memcpy(to, piece_of(t, ky), (size_t)t->inputs.count);
            to += run;
        }
    }
}

static KIBI_NOINLINE void finish(int8_t *output, const int32_t *sums, const kibi_conv2d_s8_params *p, int32_t channel,
                                 int32_t count)
{
    kibi_requantize_channels(output + channel, sums, count, KIBI_AT(int32_t, p, multiplier) + channel,
                             KIBI_AT(int8_t, p, shift) + channel, p->output_zero_point, p->activation_min,
                             p->activation_max);
}

/* Computes the channels of one pixel: from the first input; or, where it has no rows, from wherever the columns are. */
static KIBI_NOINLINE void one_pixel(int8_t *output, task *t)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int32_t run = p->kernel_width * t->depth;
    const int32_t size = p->kernel_rows * run;
    const int is_found = t->inputs.rows != NULL;
    int32_t block;
    for (int32_t o = t->channel; o < t->end; o += block) {
        const int32_t *from = KIBI_AT(int32_t, p, bias) + o;
        int32_t sums[4];
        int32_t k = 0;
        block = o + 4 <= t->end ? 4 : 1;
        do {
            const int8_t *w = KIBI_AT(int8_t, p, filter) + o * size + k * t->depth;
            k = is_found ? p->kernel_width : find_columns(t, k);
            for (int32_t piece = 0; piece < t->inputs.pieces; ++piece) {
                if (block == 4) {
                    kibi_dot_4x1_s8(sums, from, w, size, piece_of(t, piece), t->inputs.count);
                } else {
                    sums[0] = kibi_dot_1x1_s8(*from, w, piece_of(t, piece), t->inputs.count);
                }
                from = sums;
                w += run;
            }
        } while (k < p->kernel_width);
        finish(output, sums, p, o, block);
    }
}

/* Computes pairs of channels of two pixels from the two inputs, and leaves what is left of an odd number. */
static KIBI_NOINLINE void two_pixels(int8_t *output, task *t)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int32_t size = t->inputs.pieces * t->inputs.count;
    const int8_t *w = KIBI_AT(int8_t, p, filter) + t->channel * size;
    for (; t->channel + 2 <= t->end; t->channel += 2) {
        int32_t sums[4];
        kibi_dot_2x2_s8(sums, KIBI_AT(int32_t, p, bias) + t->channel, w, &t->inputs);
        finish(output, sums, p, t->channel, 2);
        finish(output + p->output_channels, sums + 2, p, t->channel, 2);
        w += 2 * size;
    }
}

/* Finds or gathers the window and, where `left` says that the row has more pixels, the next one's. Returns whether both are
 * in pieces of the same size. */
static int prepare(task *t, int32_t left, const int8_t *const *patch, int8_t *scratch)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int32_t run = p->kernel_width * t->depth;
    const int32_t last = p->input_width - p->kernel_width;
    t->inputs.pieces = p->kernel_rows;
    if (p->uses_im2col != 0) {
        const int32_t size = p->kernel_rows * run;
        gather(t, scratch);
        if (left > 1) {
            t->start += p->stride;
            gather(t, scratch + size);
            t->start -= p->stride;
        }
        const kibi_dot_2x2_s8_inputs gathered = {patch, 0, size, 1, size};
        t->inputs = gathered;
        return left > 1;
    }
    if (p->dilation == 1 && p->groups == 1 && t->start >= 0 && t->start <= last) {
        const kibi_dot_2x2_s8_inputs inside = {t->rows, t->start * t->depth, p->stride * t->depth, p->kernel_rows, run};
        t->inputs = inside;
        return left > 1 && t->start + p->stride <= last;
    }
    t->inputs.rows = NULL;
    return 0;
}

void kibi_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_params *params, void *scratch)
{
    const kibi_conv2d_s8_params *const p = params;
    const int8_t *const patch = (const int8_t *)scratch;
    task t;
    int32_t done;
    t.params = p;
    t.rows = rows;
    t.depth = p->input_channels / p->groups;
    KIBI_ASSERT(t.depth * p->groups == p->input_channels && p->output_channels % p->groups == 0);
    KIBI_ASSERT(!p->uses_im2col || scratch != NULL);
    for (int32_t x = 0; x < p->output_width; x += done) {
        t.start = x * p->stride - p->pad;
        t.first = 0;
        t.end = 0;
        do {
            t.channel = t.end;
            t.end += p->output_channels / p->groups;
            done = 1;
            if (prepare(&t, p->output_width - x, &patch, (int8_t *)scratch) != 0) {
                two_pixels(output, &t);
                done = 2;
            }
            for (int32_t pixel = 0; pixel < done; ++pixel) {
                one_pixel(output + pixel * p->output_channels, &t);
                t.inputs.offset += t.inputs.distance;
            }
            t.first += t.depth;
        } while (t.end < p->output_channels);
        output += done * p->output_channels;
    }
}
