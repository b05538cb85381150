/* CONV_2D, int8, portable. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_s8.h"

#include <string.h>

#include "kibi_dot_1x1_s8.h"
#include "kibi_dot_2x2_s8.h"
#include "kibi_dot_4x1_s8.h"
#include "kibi_requantize.h"

/* Copies the window under output column x into `patch`, one group's channels of it; the zero point stands outside. */
static KIBI_NOINLINE void gather(int8_t *patch, const int8_t *const *rows, const kibi_conv2d_s8_params *p, int32_t x, int32_t first,
                   int32_t depth)
{
    const int32_t start = x * p->stride - p->pad;
    const int32_t end = start + (p->kernel_width - 1) * p->dilation;
    /* Where the window lies inside and its columns touch, each row of it is one run of bytes. */
    const int is_run = start >= 0 && end < p->input_width && p->dilation == 1 && p->groups == 1;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        const int8_t *const row = rows[ky] + first;
        if (is_run) {
            memcpy(patch, row + start * depth, (size_t)(p->kernel_width * depth));
            patch += p->kernel_width * depth;
            continue;
        }
        for (int32_t column = start; column <= end; column += p->dilation) {
            if (column >= 0 && column < p->input_width) {
                memcpy(patch, row + column * p->input_channels, (size_t)depth);
            } else {
                memset(patch, (int)p->input_zero_point, (size_t)depth);
            }
            patch += depth;
        }
    }
}

static KIBI_NOINLINE void finish(int8_t *output, const int32_t *sums, const kibi_conv2d_s8_params *p, int32_t channel,
                                 int32_t count)
{
    kibi_requantize_channels(output + channel, sums, count, p->multiplier + channel, p->shift + channel,
                             p->output_zero_point, p->activation_min, p->activation_max);
}

/* Computes channels begin … end - 1 of two pixels, or, where x1 is null, of one. */
static KIBI_NOINLINE void block(int8_t *output, const int8_t *x0, const int8_t *x1, int32_t size,
                                const kibi_conv2d_s8_params *p, int32_t begin, int32_t end)
{
    int32_t o = begin;
    int32_t sums[4];
    const int8_t *w = p->filter + begin * size;
    const int32_t *bias = p->bias + begin;
    if (x1 != NULL) {
        for (; o + 2 <= end; o += 2) {
            kibi_dot_2x2_s8(sums, bias, w, size, x0, x1, size);
            finish(output, sums, p, o, 2);
            finish(output + p->output_channels, sums + 2, p, o, 2);
            w += 2 * size;
            bias += 2;
        }
    } else {
        for (; o + 4 <= end; o += 4) {
            kibi_dot_4x1_s8(sums, bias, w, size, x0, size);
            finish(output, sums, p, o, 4);
            w += 4 * size;
            bias += 4;
        }
    }
    for (; o < end; ++o) {
        sums[0] = kibi_dot_1x1_s8(*bias, w, x0, size);
        finish(output, sums, p, o, 1);
        if (x1 != NULL) {
            sums[0] = kibi_dot_1x1_s8(*bias, w, x1, size);
            finish(output + p->output_channels, sums, p, o, 1);
        }
        w += size;
        ++bias;
    }
}

void kibi_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_params *params, void *scratch)
{
    const kibi_conv2d_s8_params *const p = params;
    const int32_t depth = p->input_channels / p->groups;
    const int32_t size = p->kernel_rows * p->kernel_width * depth;
    const int32_t channels = p->output_channels / p->groups;
    const int is_pointwise = p->kernel_rows == 1 && p->kernel_width == 1 && p->groups == 1 && p->pad == 0;
    int8_t *const patch = (int8_t *)scratch;
    KIBI_ASSERT(depth * p->groups == p->input_channels && channels * p->groups == p->output_channels);
    KIBI_ASSERT(is_pointwise || scratch != NULL);
    for (int32_t x = 0; x < p->output_width; x += 2) {
        const int is_pair = x + 1 < p->output_width;
        for (int32_t group = 0; group < p->groups; ++group) {
            const int8_t *x0 = patch;
            const int8_t *x1 = NULL;
            if (is_pointwise) {
                x0 = rows[0] + x * p->stride * depth;
                x1 = is_pair ? x0 + p->stride * depth : NULL;
            } else {
                gather(patch, rows, p, x, group * depth, depth);
                if (is_pair) {
                    gather(patch + size, rows, p, x + 1, group * depth, depth);
                    x1 = patch + size;
                }
            }
            block(output, x0, x1, size, p, group * channels, (group + 1) * channels);
        }
        output += 2 * p->output_channels;
    }
}
