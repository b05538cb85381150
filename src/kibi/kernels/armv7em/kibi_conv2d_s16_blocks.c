/* CONV_2D, int16, for cores with the DSP extension: two channels of one to three pixels at once. Source of the rule: TFLM,
 * integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d.h"

#include "kibi_conv2d_s16_pixels.h"

/* Parts that a library leaves out where no layer needs them: blocks of these sizes, windows that reach outside, odd numbers of
 * output channels. */
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_3
#define KIBI_CONV2D_S16_BLOCKS_OF_3 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_2
#define KIBI_CONV2D_S16_BLOCKS_OF_2 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_1
#define KIBI_CONV2D_S16_BLOCKS_OF_1 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_AT_EDGES
#define KIBI_CONV2D_S16_BLOCKS_AT_EDGES 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS
#define KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS 1
#endif

enum { MOST_PIXELS = 3 };

/* Copies `count` elements to the groups of one pixel, from element `at` of the first group on. What is left of the last group keeps
 * its elements, whose weights are 0. step: elements from a group to the next. */
static KIBI_NOINLINE void copy_elements(int16_t *to, int32_t at, const int16_t *from, int32_t count, int32_t step)
{
    const int16_t *const end = from + count;
    to += (at >> 2) * step;
    at &= 3;
    while (from != end) {
        to[at++] = *from++;
        if (at == 4) {
            at = 0;
            to += step;
        }
    }
}

/* The same from the first element of a group on: whole groups, which are aligned as words, then the rest. */
static void copy_run(int16_t *to, const int16_t *from, int32_t count, int32_t step)
{
    const int16_t *const whole = from + (count & ~3);
    const int32_t step_bytes = step * (int32_t)sizeof(*to);
    while (from != whole) {
        uint32_t first;
        uint32_t second;
        __asm__ volatile("ldr %[first], [%[from]], #4\n\t"
                         "ldr %[second], [%[from]], #4\n\t"
                         "strd %[first], %[second], [%[to]]\n\t"
                         "add %[to], %[to], %[step]"
                         : [from] "+r"(from), [to] "+r"(to), [first] "=&r"(first), [second] "=&r"(second)
                         : [step] "r"(step_bytes)
                         : "memory");
    }
    if ((count & 2) != 0) {
        uint32_t both;
        __asm__ volatile("ldr %[both], [%[from]], #4\n\t"
                         "str %[both], [%[to]], #4"
                         : [from] "+r"(from), [to] "+r"(to), [both] "=&r"(both)
                         :
                         : "memory");
    }
    if ((count & 1) != 0) {
        *to = *from;
    }
}

static KIBI_NOINLINE void clear_run(int16_t *to, int32_t groups, int32_t step)
{
    for (int32_t group = 0; group < groups; ++group) {
        to[0] = 0;
        to[1] = 0;
        to[2] = 0;
        to[3] = 0;
        to += step;
    }
}

/* Copies the window of one pixel, which starts at column `start`. */
static void gather(int16_t *to, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *p, int32_t start, int32_t step)
{
    const int32_t depth = p->input_channels;
    const int32_t size = p->run * depth;
    const int32_t groups = (size + 3) >> 2;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t column = start;
        for (int32_t kx = 0; kx < p->kernel_width; kx += p->run) {
            const int is_inside = !KIBI_CONV2D_S16_BLOCKS_AT_EDGES || (column >= 0 && column + p->run <= p->input_width);
            if (rows[ky] != NULL && is_inside) {
                copy_run(to, rows[ky] + column * depth, size, step);
            } else {
                clear_run(to, groups, step);
                if (KIBI_CONV2D_S16_BLOCKS_AT_EDGES && rows[ky] != NULL) {
                    const int32_t first = column < 0 ? 0 : column;
                    const int32_t end = column + p->run < p->input_width ? column + p->run : p->input_width;
                    const int32_t count = first < end ? (end - first) * depth : 0;
                    copy_elements(to, (first - column) * depth, rows[ky] + first * depth, count, step);
                }
            }
            to += groups * step;
            column += p->dilation;
        }
    }
}

static void compute(const kibi_conv2d_s16_pixels *block, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && pixels == 3) {
        kibi_conv2d_s16_pixels3(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2 && (!KIBI_CONV2D_S16_BLOCKS_OF_1 || pixels == 2)) {
        kibi_conv2d_s16_pixels2(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_1) {
        kibi_conv2d_s16_pixels1(block);
    }
}

/* Computes the last one of an odd number of channels, and throws its neighbour away. */
static KIBI_NOINLINE void odd_channel(int16_t *output, const kibi_conv2d_s16_pixels *of, int32_t channels, int32_t pixels,
                                      int32_t groups)
{
    int16_t both[2 * MOST_PIXELS];
    kibi_conv2d_s16_pixels block = *of;
    block.channels += channels / 2 * 4;
    block.filter += channels / 2 * 2 * groups;
    block.output = both;
    block.pixel_bytes = 2 * (int32_t)sizeof(*both);
    block.end = both + 2;
    compute(&block, pixels);
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        output[pixel * channels] = both[2 * pixel];
    }
}

/* How many of the pixels that are left the next block has. */
static int32_t next_pixels(int32_t left, int32_t pixels)
{
    if (pixels == 3) {
        return left == 2 || left == 4 ? 2 : 3;
    }
    return left < pixels ? left : pixels;
}

void kibi_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *params,
                            void *scratch)
{
    const kibi_conv2d_s16_blocks_params *const p = params;
    const int32_t groups = p->kernel_rows * (p->kernel_width / p->run) * ((p->run * p->input_channels + 3) >> 2);
    const int32_t paired = p->output_channels & ~1;
    const uint32_t each = 0x10001u;
    int16_t *const windows = (int16_t *)scratch;
    int32_t start = -p->pad;
    int32_t pixels;
    kibi_conv2d_s16_pixels block;
    block.channels = KIBI_AT(int32_t, p, channels);
    block.windows = windows;
    block.is_odd = groups & 1;
    block.zero_point = p->output_zero_point;
    block.low = (uint16_t)p->activation_min * each;
    block.high = (uint16_t)p->activation_max * each;
    block.pixel_bytes = p->output_channels * (int32_t)sizeof(*output);
    block.filter = KIBI_AT(int32_t, p, filter);
    for (int32_t left = p->output_width; left > 0; left -= pixels) {
        pixels = next_pixels(left, p->pixels);
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            gather(windows + 4 * pixel, rows, p, start, 4 * pixels);
            start += p->stride;
        }
        block.windows_end = windows + 4 * groups * pixels;
        block.output = output;
        block.end = output + paired;
        if (paired != 0) {
            compute(&block, pixels);
        }
        if (KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS && paired != p->output_channels) {
            odd_channel(output + paired, &block, p->output_channels, pixels, groups);
        }
        output += pixels * p->output_channels;
    }
}
