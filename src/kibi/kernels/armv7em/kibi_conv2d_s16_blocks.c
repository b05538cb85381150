/* CONV_2D, int16, for cores with the DSP extension: two channels of one to three pixels at once. Source of the rule: TFLM,
 * integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d_s16_packed.h"

#include "kibi_conv2d_s16_pixels.h"
#include "kibi_conv2d_s16_windows.h"

/* Parts that a library leaves out where no layer needs them: weights of 8 bits and of 16, those of 8 that are widened, windows that
 * reach outside, odd numbers of output channels. */
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS
#define KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_WIDE_WEIGHTS
#define KIBI_CONV2D_S16_BLOCKS_OF_WIDE_WEIGHTS 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_WIDENED_WEIGHTS
#define KIBI_CONV2D_S16_BLOCKS_OF_WIDENED_WEIGHTS 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_AT_EDGES
#define KIBI_CONV2D_S16_BLOCKS_AT_EDGES 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS
#define KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS 1
#endif

enum { MOST_PIXELS = 3 };

static void compute_narrow(const kibi_conv2d_s16_pixels *block, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && pixels == 3) {
        kibi_conv2d_s16_pixels3(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2 && (!KIBI_CONV2D_S16_BLOCKS_OF_1 || pixels == 2)) {
        kibi_conv2d_s16_pixels2(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_1) {
        kibi_conv2d_s16_pixels1(block);
    }
}

/* pixels: 2 or 3. */
static void compute_wide(const kibi_conv2d_s16_pixels *block, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && (!KIBI_CONV2D_S16_BLOCKS_OF_2 || pixels == 3)) {
        kibi_conv2d_s16_wide_pixels3(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2) {
        kibi_conv2d_s16_wide_pixels2(block);
    }
}

static void compute(const kibi_conv2d_s16_pixels *block, int32_t pixels, int32_t weight_bits)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_WIDE_WEIGHTS && (!KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS || weight_bits == 16)) {
        compute_wide(block, pixels);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS) {
        compute_narrow(block, pixels);
    }
}

/* Four elements' weights of both channels. */
#define WIDEN                           \
    "ldrd r6, r7, [r1], #8\n"           \
    "sxtb16 r4, r6\n"                   \
    "sxtb16 r5, r7\n"                   \
    "sxtb16 r6, r6, ror #8\n"           \
    "sxtb16 r7, r7, ror #8\n"           \
    "stm r0!, {r4, r5, r6, r7}\n"

/* Writes a stream of `pairs` pairs of channels with weights of 16 bits. groups: of four elements, at least one.
 * Registers and stack:
 *   r0, r1          the wide stream, the narrow one
 *   r2, r3          pairs, groups
 *   r4 … r7         weights; constants of channels
 *   r12             groups left
 *   sp + 0          r4 … r7 of the caller
 * Stack: 16 bytes. */
static KIBI_NOINLINE KIBI_NAKED void widen(KIBI_IN_REGISTER int32_t *wide, KIBI_IN_REGISTER const int32_t *narrow,
                                           KIBI_IN_REGISTER int32_t pairs, KIBI_IN_REGISTER int32_t groups)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7}\n"
        "ldrd r4, r5, [r1], #8\n"
        "strd r4, r5, [r0], #8\n"
        "1:\n" /* the weights of the next pair of channels; an odd number of groups begins in the middle */
        "lsrs r12, r3, #1\n"
        "bcs 3f\n"
        "sub r12, r12, #1\n"
        "2:\n" /* eight elements */
        WIDEN
        "3:\n"
        WIDEN
        "subs r12, r12, #1\n"
        "bhs 2b\n"
        "subs r2, r2, #1\n"
        "beq 4f\n"
        "ldm r1!, {r4, r5, r6, r7}\n" /* the factors, the next biases */
        "stm r0!, {r4, r5, r6, r7}\n"
        "b 1b\n"
        "4:\n"
        "ldrd r4, r5, [r1]\n"
        "strd r4, r5, [r0]\n"
        "pop {r4, r5, r6, r7}\n"
        "bx lr\n");
}

/* Computes the last one of an odd number of channels, and throws its neighbour away. */
static KIBI_NOINLINE void odd_channel(int16_t *output, const kibi_conv2d_s16_pixels *of, const kibi_conv2d_s16_blocks_params *p,
                                      int32_t pixels, int32_t groups, int32_t weight_bits)
{
    const int32_t channels = p->output_channels;
    int16_t both[2 * MOST_PIXELS];
    kibi_conv2d_s16_pixels block = *of;
    block.stream += channels / 2 * (weight_bits / 4 * groups + 4);
    block.output = both;
    block.pixel_bytes = 2 * (int32_t)sizeof(*both);
    block.end = both + 2;
    compute(&block, pixels, weight_bits);
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

/* What an activation leaves of 16 bits. */
static int32_t range_kind(int32_t low, int32_t high)
{
    return high != 32767 ? KIBI_S16_RANGE
         : low == 0      ? KIBI_S16_NOT_NEGATIVE
         : low == -32768 ? KIBI_S16_ALL_NUMBERS
                         : KIBI_S16_RANGE;
}

void kibi_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *params,
                            void *scratch)
{
    const kibi_conv2d_s16_blocks_params *const p = params;
    const int32_t groups = (p->kernel_rows * p->kernel_width * p->input_channels + 3) >> 2;
    const int32_t channels = p->output_channels;
    const int32_t paired = channels & ~1;
    const int32_t weight_bits = p->is_widened != 0 ? 16 : p->weight_bits;
    const int is_narrow = p->dilation == 1;
    const uint32_t each = 0x10001u;
    const int32_t column_bytes = p->input_channels * (int32_t)sizeof(*output);
    const int32_t limit = p->input_width - (p->kernel_width - 1) * p->dilation - 1;
    int16_t *const windows = (int16_t *)scratch;
    int32_t start = -p->pad;
    int32_t before;
    kibi_s16_runs task;
    kibi_conv2d_s16_pixels block;
    task.to = windows;
    task.rows = rows;
    task.rows_end = rows + p->kernel_rows;
    task.elements = (is_narrow ? p->kernel_width : 1) * p->input_channels;
    task.second_bytes = p->stride * column_bytes;
    task.third_bytes = 2 * task.second_bytes;
    task.next_bytes = 2;
    before = (task.elements & ~1) * p->kernel_rows * (is_narrow ? 1 : p->kernel_width);
    block.windows = windows;
    block.fours = groups - 1;
    block.range_kind = range_kind(p->activation_min, p->activation_max);
    block.zero_point = p->output_zero_point;
    block.low = (uint16_t)p->activation_min * each;
    block.high = (uint16_t)p->activation_max * each;
    block.pixel_bytes = p->output_channels * (int32_t)sizeof(*output);
    block.stream = KIBI_AT(int32_t, p, stream);
    if (KIBI_CONV2D_S16_BLOCKS_OF_WIDENED_WEIGHTS && p->is_widened != 0) {
        int32_t *const wide = (int32_t *)(void *)(windows + 4 * groups * MOST_PIXELS);
        widen(wide, block.stream, (channels + 1) >> 1, groups);
        block.stream = wide;
    }
    for (int32_t left = p->output_width; left > 0;) {
        const int32_t pixels = next_pixels(left, p->pixels);
        const int32_t windows_stride = pixels * p->stride;
        const int32_t last_start = limit - windows_stride + p->stride;
        task.last = windows + before * pixels;
        task.place_bytes = start * column_bytes;
        block.windows_end = windows + 4 * groups * pixels;
        do {
            if (KIBI_CONV2D_S16_BLOCKS_AT_EDGES && (start < 0 || start > last_start)) {
                kibi_copy_s16_edges(&task, p, start, limit, pixels);
            } else if (is_narrow) {
                kibi_copy_s16_runs(&task, pixels);
            } else {
                kibi_copy_s16_columns(&task, p, pixels);
            }
            block.output = output;
            block.end = output + paired;
            if (paired != 0) {
                compute(&block, pixels, weight_bits);
            }
            if (KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS && paired != channels) {
                odd_channel(output + paired, &block, p, pixels, groups, weight_bits);
            }
            start += windows_stride;
            task.place_bytes += windows_stride * column_bytes;
            output += pixels * channels;
            left -= pixels;
        } while (left > 4);
    }
}
