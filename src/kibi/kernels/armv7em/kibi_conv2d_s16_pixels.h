/* Blocks of two channels and one to three pixels of a convolution of int16, Armv7E-M. */
#ifndef KIBI_CONV2D_S16_PIXELS_H
#define KIBI_CONV2D_S16_PIXELS_H

#include "kibi_dsp.h"

/* The windows of neighbouring pixels and the channels to compute of them; kernels in assembly know where each field is, and
 * work on a copy. */
typedef struct {
    const int32_t *channels;   /* as in kibi_conv2d_s16_blocks_params */
    const int16_t *windows_end;
    const int16_t *windows;    /* [groups of four elements][pixels][4] */
    int32_t is_odd;            /* 1: the number of groups is odd */
    int32_t zero_point;        /* of the output */
    uint32_t low;              /* the activation's range, in both halves */
    uint32_t high;
    int16_t *output;           /* of the first pixel */
    int32_t pixel_bytes;       /* from there to the second pixel's, and so on */
    const int16_t *end;        /* where the first pixel's last channel ends: at least one pair of channels */
    const int32_t *filter;
} kibi_conv2d_s16_pixels;

KIBI_FIELD_AT(kibi_conv2d_s16_pixels, channels, 0);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, windows_end, 4);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, windows, 8);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, is_odd, 12);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, zero_point, 16);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, low, 20);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, high, 24);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, output, 28);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, pixel_bytes, 32);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, end, 36);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, filter, 40);

/* Computes all pairs of channels of one pixel, of two, of three. */
void kibi_conv2d_s16_pixels1(const kibi_conv2d_s16_pixels *task);
void kibi_conv2d_s16_pixels2(const kibi_conv2d_s16_pixels *task);
void kibi_conv2d_s16_pixels3(const kibi_conv2d_s16_pixels *task);

/* Registers and stack of all three:
 *   r0         the weights; before: task; while outputs are made: the zero point
 *   r1         the windows; then free
 *   r2, r3     weights of both channels; then the factors
 *   r4 … r9    the sums, of both channels of each pixel in turn; of one pixel r4 and r5, and weights in r6 … r9
 *   r10, r11   weights of both channels; then low and high
 *   r12, lr    elements; then the output and the distance of pixels
 *   sp + 0     channels
 *   sp + 4     windows_end, windows
 *   sp + 12    is_odd
 *   sp + 16    zero_point, low, high
 *   sp + 28    output, pixel_bytes, end
 *   sp + 40    the weights, while outputs are made
 *   sp + 48    r4 … r11, lr of the caller
 * Stack: 84 bytes. */

/* Copies the task to the stack; then, for each pair of channels, begins with the biases. */
#define KIBI_S16_PIXELS_BEGIN                                              \
    ".syntax unified\n"                                                    \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                        \
    "sub sp, sp, #48\n"                                                    \
    "ldm r0, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11}\n"             \
    "stm sp, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11}\n"             \
    "mov r0, r11\n"                                                        \
    "10:\n" /* the next two channels */                                    \
    "ldr r12, [sp]\n"                                                      \
    "ldrd r4, r5, [r12]\n"                                                 \
    "ldrd r1, r2, [sp, #8]\n"

/* Four elements of a window: the words of both channels' weights widen in pairs (0, 2) and (1, 3), which hold the weights of
 * elements 0 and 1, and of 2 and 3. */
#define KIBI_S16_WEIGHTS                \
    "ldrd r10, r11, [r0], #8\n"         \
    "sxtb16 r2, r10\n"                  \
    "sxtb16 r10, r10, ror #8\n"         \
    "sxtb16 r3, r11\n"                  \
    "sxtb16 r11, r11, ror #8\n"
#define KIBI_S16_PIXEL(first, second)               \
    "ldrd r12, lr, [r1], #8\n"                      \
    "smlad " first ", r12, r2, " first "\n"         \
    "smlad " second ", r12, r3, " second "\n"       \
    "smlad " first ", lr, r10, " first "\n"         \
    "smlad " second ", lr, r11, " second "\n"

/* All groups: an odd one first, then two at a time. */
#define KIBI_S16_PIXELS_LOOP(group, two_groups, end) \
    "cmp r2, #0\n"                                   \
    "beq 12f\n"                                      \
    group                                            \
    "b 12f\n"                                        \
    "11:\n" /* two groups of four elements */        \
    two_groups                                       \
    "12:\n"                                          \
    "ldr " end ", [sp, #4]\n"                        \
    "cmp r1, " end "\n"                              \
    "bne 11b\n"

#define KIBI_S16_PIXELS_FINISH                      \
    "str r0, [sp, #40]\n"                           \
    "ldr r12, [sp]\n"                               \
    "ldrd r2, r3, [r12, #8]\n"                      \
    "adds r12, r12, #16\n"                          \
    "str r12, [sp]\n"                               \
    "ldrd r0, r10, [sp, #16]\n"                     \
    "ldrd r11, r12, [sp, #24]\n"                    \
    "ldr lr, [sp, #32]\n"

/* Outputs of both channels of a pixel: the high half of sum * factor, rounded half up, plus the zero point; cut to 16 bits, then to
 * the activation's range; side by side. */
#define KIBI_S16_FINISH_PIXEL(first, second)         \
    "smmlar " first ", " first ", r2, r0\n"          \
    "smmlar " second ", " second ", r3, r0\n"        \
    "ssat " first ", #16, " first "\n"               \
    "ssat " second ", #16, " second "\n"             \
    "pkhbt " first ", " first ", " second ", lsl #16\n" \
    "ssub16 r1, " first ", r10\n"                    \
    "sel " first ", " first ", r10\n"                \
    "ssub16 r1, r11, " first "\n"                    \
    "sel " first ", " first ", r11\n"                \
    "str " first ", [r12]\n"
#define KIBI_S16_NEXT_PIXEL "add r12, r12, lr\n"

#define KIBI_S16_PIXELS_END                          \
    "ldr r0, [sp, #40]\n"                            \
    "ldr r12, [sp, #28]\n"                           \
    "ldr r1, [sp, #36]\n"                            \
    "adds r12, r12, #4\n"                            \
    "str r12, [sp, #28]\n"                           \
    "cmp r12, r1\n"                                  \
    "bne 10b\n"                                      \
    "add sp, sp, #48\n"                              \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

#endif
