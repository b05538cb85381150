/* CONV_2D, three by three on one channel, int8, Armv7E-M. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_clamp_s8.h"
#include "kibi_dsp.h"

enum { ROWS = 3, COLUMNS = 3 };

/* Neighbouring pixels, as the assembly wants them. */
typedef struct {
    const int8_t *rows[ROWS]; /* of the first window */
    int32_t stride;
    const int32_t *channels;
    int32_t output_channels;
    const int8_t *last; /* where the last pixel's outputs end */
    int8_t *output;
    int32_t rounding; /* twice the output's zero point, plus 1 */
} pixels;

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(pixels, rows, 0);
KIBI_FIELD_AT(pixels, stride, 12);
KIBI_FIELD_AT(pixels, channels, 16);
KIBI_FIELD_AT(pixels, output_channels, 20);
KIBI_FIELD_AT(pixels, last, 24);
KIBI_FIELD_AT(pixels, output, 28);
KIBI_FIELD_AT(pixels, rounding, 32);

/* One channel: r4 … r8 hold the window in pairs, r1 points to the constants, seven words, so that those of eight channels fit a cache
 * of 256 bytes wherever they begin; r3 is the rounding. A doubled multiplier, read
 * as a signed number, is 2**32 too small, so that the sum is added. 1 is taken from what is negative, so that half up is half
 * away from zero; all bits but the last are shifted out, and that one goes with half of it and the zero point; that sum
 * saturates as it may. */
#define CHANNEL                                   \
    "ldm r1!, {r9, r10, r11, r12, lr}\n"          \
    "smlad r9, r4, r10, r9\n"                     \
    "smlad r9, r5, r11, r9\n"                     \
    "smlad r9, r6, r12, r9\n"                     \
    "smlad r9, r7, lr, r9\n"                      \
    "ldrd r10, r11, [r1], #8\n"                   \
    "smlabt r9, r8, r10, r9\n"                    \
    "smmlar r9, r9, r11, r9\n"                    \
    "add r9, r9, r9, asr #31\n"                   \
    "asr r9, r9, r10\n"                           \
    "qadd r9, r9, r3\n"                           \
    "ssat r9, #8, r9, asr #1\n"                   \
    "strb r9, [r0], #1\n"

/* Registers and stack:
 *   r0             the output; before: at
 *   r1             the constants
 *   r2             where the pixel's outputs end
 *   r3             rounding
 *   r4 … r8        the window, in pairs
 *   r9             a sum; else free
 *   r10 … r12, lr  constants; else free
 *   sp + 0         rows
 *   sp + 12        stride
 *   sp + 16        channels
 *   sp + 20        output_channels
 *   sp + 24        last
 *   sp + 28        r4 … r11, lr of the caller
 * Stack: 64 bytes. */
static KIBI_NOINLINE KIBI_NAKED void compute(__attribute__((unused)) const pixels *at)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r0!, {r1, r2, r3, r4, r5, r6, r7}\n"
        "push {r1, r2, r3, r4, r5, r6, r7}\n"
        "ldm r0, {r0, r3}\n"
        "10:\n" /* the next pixel */
        "ldm sp, {r9, r10, r11, r12}\n" /* rows, stride */
        /* The window in pairs, in the order of its nine elements: r4 to r7 hold two each, r8 holds the last one. */
        "ldrsb r4, [r9]\n"
        "ldrsb lr, [r9, #1]\n"
        "pkhbt r4, r4, lr, lsl #16\n"
        "ldrsb r5, [r9, #2]\n"
        "ldrsb lr, [r10]\n"
        "pkhbt r5, r5, lr, lsl #16\n"
        "ldrsb r6, [r10, #1]\n"
        "ldrsb lr, [r10, #2]\n"
        "pkhbt r6, r6, lr, lsl #16\n"
        "ldrsb r7, [r11]\n"
        "ldrsb lr, [r11, #1]\n"
        "pkhbt r7, r7, lr, lsl #16\n"
        "ldrsb r8, [r11, #2]\n"
        /* The three rows go on by the stride. */
        "add r9, r9, r12\n"
        "add r10, r10, r12\n"
        "add r11, r11, r12\n"
        "stm sp, {r9, r10, r11}\n"
        "ldrd r1, r2, [sp, #16]\n" /* channels, output_channels */
        "lsls r9, r2, #31\n"
        "add r2, r2, r0\n"
        "bmi 12f\n" /* an odd number */
        "11:\n" CHANNEL /* two channels an iteration */
        "12:\n" CHANNEL /* enter with an odd number */
        "cmp r0, r2\n"
        "bne 11b\n"
        "ldr r9, [sp, #24]\n" /* last */
        "cmp r0, r9\n"
        "bne 10b\n"
        "add sp, sp, #28\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n" ::: "memory");
}

void kibi_conv2d_s8_3x3x1(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_3x3x1_params *params,
                          void *scratch)
{
    const kibi_conv2d_s8_3x3x1_params *const p = params;
    int8_t window[ROWS * COLUMNS];
    pixels at;
    int32_t left = p->output_width;
    int32_t start = -p->pad;
    (void)scratch;
    at.channels = KIBI_AT(int32_t, p, channels);
    at.output_channels = p->output_channels;
    at.stride = p->stride;
    at.rounding = 2 * p->output_zero_point + 1;
    at.output = output;
    do {
        int32_t run = 1;
        if (start >= 0 && start + COLUMNS <= p->input_width) {
            run = (p->input_width - COLUMNS - start) / p->stride + 1;
            run = run < left ? run : left;
            for (int32_t ky = 0; ky < ROWS; ++ky) {
                at.rows[ky] = rows[ky] + start;
            }
        } else {
            int8_t *to = window;
            for (int32_t ky = 0; ky < ROWS; ++ky) {
                at.rows[ky] = to;
                for (int32_t column = start; column < start + COLUMNS; ++column) {
                    const int is_inside = column >= 0 && column < p->input_width;
                    *to++ = is_inside ? rows[ky][column] : (int8_t)p->input_zero_point;
                }
            }
        }
        at.last = at.output + run * p->output_channels;
        compute(&at);
        at.output += run * p->output_channels;
        start += run * p->stride;
        left -= run;
    } while (left != 0);
    if (p->activation_min != INT8_MIN || p->activation_max != INT8_MAX) {
        kibi_clamp_s8(output, p->output_width * p->output_channels, p->activation_min, p->activation_max);
    }
}
