/* CONV_2D, int8, portable. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d_s8.h"

#include <string.h>

#include "kibi_dot_s8.h"
#include "kibi_requantize.h"

/* Copies the window under output column x into `patch`, one group's channels of it; the zero point stands outside. */
static void gather(int8_t *patch, const int8_t *const *rows, const kibi_conv2d_s8_params *p, int32_t x, int32_t first,
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

static inline int8_t finish(int32_t sum, const kibi_conv2d_s8_params *p, int32_t channel)
{
    const int32_t scaled = kibi_requantize(sum, p->multiplier[channel], p->shift[channel]) + p->output_zero_point;
    return (int8_t)kibi_clamp(scaled, p->activation_min, p->activation_max);
}

/* Computes channels begin … end - 1 of two pixels. */
static void two_pixels(int8_t *output, const int8_t *x0, const int8_t *x1, int32_t size, const kibi_conv2d_s8_params *p,
                       int32_t begin, int32_t end)
{
    int8_t *const next = output + p->output_channels;
    for (int32_t o = begin; o < end; o += 2) {
        const int32_t other = o + 1 < end ? o + 1 : o;
        const int8_t *const w0 = p->filter + o * size;
        int32_t sum[4] = {p->bias[o], p->bias[o], p->bias[other], p->bias[other]};
        kibi_dot_2x2_s8(w0, p->filter + other * size, x0, x1, size, sum);
        output[o] = finish(sum[0], p, o);
        next[o] = finish(sum[1], p, o);
        output[other] = finish(sum[2], p, other);
        next[other] = finish(sum[3], p, other);
    }
}

/* Computes channels begin … end - 1 of one pixel. */
static void one_pixel(int8_t *output, const int8_t *x, int32_t size, const kibi_conv2d_s8_params *p, int32_t begin,
                      int32_t end)
{
    for (int32_t o = begin; o < end; o += 2) {
        const int32_t other = o + 1 < end ? o + 1 : o;
        int32_t sum[2] = {p->bias[o], p->bias[other]};
        kibi_dot_2x1_s8(p->filter + o * size, p->filter + other * size, x, size, sum);
        output[o] = finish(sum[0], p, o);
        output[other] = finish(sum[1], p, other);
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
        const int32_t last = x + 1 < p->output_width ? x + 1 : x;
        for (int32_t group = 0; group < p->groups; ++group) {
            const int8_t *x0 = patch;
            const int8_t *x1 = patch + size;
            if (is_pointwise) {
                x0 = rows[0] + x * p->stride * depth;
                x1 = rows[0] + last * p->stride * depth;
            } else {
                gather(patch, rows, p, x, group * depth, depth);
                if (last != x) {
                    gather(patch + size, rows, p, last, group * depth, depth);
                }
            }
            if (last != x) {
                two_pixels(output, x0, x1, size, p, group * channels, (group + 1) * channels);
            } else {
                one_pixel(output, x0, size, p, group * channels, (group + 1) * channels);
            }
        }
        output += 2 * p->output_channels;
    }
}
