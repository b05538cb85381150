/* Blocks of two channels and one to three pixels of a convolution of int16, Armv7E-M. */
#ifndef KIBI_CONV2D_S16_PIXELS_H
#define KIBI_CONV2D_S16_PIXELS_H

#include "kibi_dsp.h"

/* Parts that a library leaves out where no layer needs them: activations that leave nothing out, or the negative numbers, or
 * others. */
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_ALL_NUMBERS
#define KIBI_CONV2D_S16_BLOCKS_OF_ALL_NUMBERS 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_RELU
#define KIBI_CONV2D_S16_BLOCKS_OF_RELU 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_RANGES
#define KIBI_CONV2D_S16_BLOCKS_OF_RANGES 1
#endif

/* What an activation leaves of 16 bits. */
enum { KIBI_S16_NOT_NEGATIVE, KIBI_S16_ALL_NUMBERS, KIBI_S16_RANGE };

/* The windows of neighbouring pixels and the channels to compute of them; kernels in assembly know where each field is, and
 * work on a copy. */
typedef struct {
    int16_t *output;           /* of the first pixel */
    int32_t pixel_bytes;       /* from there to the second pixel's, and so on */
    const int16_t *end;        /* where the first pixel's last channel ends: at least one pair of channels */
    const int16_t *windows_end;
    const int16_t *windows;    /* [pairs of elements, in whole fours][pixels][2] */
    int32_t fours;             /* the number of fours, less 1: the last two bits count */
    int32_t range_kind;
    int32_t zero_point;        /* of the output */
    uint32_t low;              /* the activation's range, in both halves */
    uint32_t high;
    const int32_t *stream;     /* as in kibi_conv2d_s16_blocks_params */
} kibi_conv2d_s16_pixels;

KIBI_FIELD_AT(kibi_conv2d_s16_pixels, output, 0);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, pixel_bytes, 4);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, end, 8);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, windows_end, 12);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, windows, 16);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, fours, 20);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, range_kind, 24);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, zero_point, 28);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, low, 32);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, high, 36);
KIBI_FIELD_AT(kibi_conv2d_s16_pixels, stream, 40);

/* Computes all pairs of channels of one pixel, of two, of three. */
void kibi_conv2d_s16_pixels1(const kibi_conv2d_s16_pixels *task);
void kibi_conv2d_s16_pixels2(const kibi_conv2d_s16_pixels *task);
void kibi_conv2d_s16_pixels3(const kibi_conv2d_s16_pixels *task);

/* The same of two pixels and of three, where weights have 16 bits. */
void kibi_conv2d_s16_wide_pixels2(const kibi_conv2d_s16_pixels *task);
void kibi_conv2d_s16_wide_pixels3(const kibi_conv2d_s16_pixels *task);

/* Registers and stack of all:
 *   r0         the stream; before: task
 *   r1         the windows; then the range's kind, and free
 *   r2         weights; then a factor, then low
 *   r3         weights or elements; then a factor, then high
 *   r4 … r9    the sums, of both channels of each pixel in turn; of one pixel r4 and r5, and weights in r6 … r9
 *   r10, r11   weights of both channels; then the zero point, and free; r11 of three pixels from weights of 16 bits: windows_end
 *   r12, lr    elements; then the output and the distance of pixels
 *   sp + 0     output, pixel_bytes, end
 *   sp + 12    windows_end, windows, fours
 *   sp + 24    range_kind, zero_point, low, high
 *   sp + 40    r4 … r11, lr of the caller
 * Stack: 76 bytes. */

/* Copies the task to the stack; then, for each pair of channels, begins with the biases. Negative: the number of fours is even;
 * carry: less 1, it is two or three more than a multiple of four. */
#define KIBI_S16_PIXELS_BEGIN                                              \
    ".syntax unified\n"                                                    \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                        \
    "sub sp, sp, #40\n"                                                    \
    "ldm r0, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11}\n"             \
    "stm sp, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}\n"                  \
    "mov r0, r11\n"                                                        \
    "10:\n" /* the next two channels */                                    \
    "ldrd r4, r5, [r0], #8\n"                                              \
    "ldrd r1, r2, [sp, #16]\n"                                             \
    "lsls r2, r2, #31\n"

/* Goes on with a loop until all elements are multiplied. */
#define KIBI_S16_PIXELS_UNTIL_END(end)                   \
    "ldr " end ", [sp, #12]\n"                           \
    "cmp r1, " end "\n"                                  \
    "bne 11b\n"

#define KIBI_S16_PIXELS_FINISH                           \
    "ldrd r2, r3, [r0], #8\n"                            \
    "ldrd r1, r10, [sp, #24]\n"                          \
    "ldrd r12, lr, [sp]\n"

/* The high halves of the sums of a pixel times the factors, rounded half up, plus the zero point. */
#define KIBI_S16_SCALE(first, second)                    \
    "smmlar " first ", " first ", r2, r10\n"             \
    "smmlar " second ", " second ", r3, r10\n"

/* Both channels of a pixel, cut by an instruction and side by side. */
#define KIBI_S16_CUT(instruction, bits, first, second)             \
    instruction " " first ", #" bits ", " first "\n"               \
    instruction " " second ", #" bits ", " second "\n"             \
    "pkhbt " first ", " first ", " second ", lsl #16\n"

/* The same, cut to r2 … r3. */
#define KIBI_S16_CUT_TO_RANGE(first, second)             \
    KIBI_S16_CUT("ssat", "16", first, second)            \
    "ssub16 r1, " first ", r2\n"                         \
    "sel " first ", " first ", r2\n"                     \
    "ssub16 r1, r3, " first "\n"                         \
    "sel " first ", " first ", r3\n"

/* Outputs by the kind of range: which texts there are depends on the parts of the library. */
#if KIBI_CONV2D_S16_BLOCKS_OF_RELU && (KIBI_CONV2D_S16_BLOCKS_OF_ALL_NUMBERS || KIBI_CONV2D_S16_BLOCKS_OF_RANGES)
#define KIBI_S16_RELU_BEGIN "cbnz r1, 21f\n"
#define KIBI_S16_RELU_END "b 23f\n21:\n"
#else
#define KIBI_S16_RELU_BEGIN
#define KIBI_S16_RELU_END
#endif
#if KIBI_CONV2D_S16_BLOCKS_OF_ALL_NUMBERS && KIBI_CONV2D_S16_BLOCKS_OF_RANGES
#define KIBI_S16_ALL_BEGIN "cmp r1, #1\nbne 22f\n"
#define KIBI_S16_ALL_END "b 23f\n22:\n"
#else
#define KIBI_S16_ALL_BEGIN
#define KIBI_S16_ALL_END
#endif
#if KIBI_CONV2D_S16_BLOCKS_OF_RELU
#define KIBI_S16_RELU(text) KIBI_S16_RELU_BEGIN text KIBI_S16_RELU_END
#else
#define KIBI_S16_RELU(text)
#endif
#if KIBI_CONV2D_S16_BLOCKS_OF_ALL_NUMBERS
#define KIBI_S16_ALL(text) KIBI_S16_ALL_BEGIN text KIBI_S16_ALL_END
#else
#define KIBI_S16_ALL(text)
#endif
#if KIBI_CONV2D_S16_BLOCKS_OF_RANGES
#define KIBI_S16_RANGES(text) "ldrd r2, r3, [sp, #32]\n" text
#else
#define KIBI_S16_RANGES(text)
#endif

#define KIBI_S16_NOT_NEGATIVE_CUT(first, second) KIBI_S16_CUT("usat", "15", first, second)
#define KIBI_S16_ALL_CUT(first, second) KIBI_S16_CUT("ssat", "16", first, second)

/* Outputs of two pixels, of three. */
#define KIBI_S16_OUTPUTS_2(cut)         \
    cut("r4", "r5")                     \
    cut("r6", "r7")                     \
    "str r6, [r12, lr]\n"               \
    "str r4, [r12], #4\n"
#define KIBI_S16_OUTPUTS_3(cut)         \
    cut("r4", "r5")                     \
    cut("r6", "r7")                     \
    cut("r8", "r9")                     \
    "str r8, [r12, lr, lsl #1]\n"       \
    "str r6, [r12, lr]\n"               \
    "str r4, [r12], #4\n"

/* Goes on with the next two channels. */
#define KIBI_S16_PIXELS_END                              \
    "23:\n"                                              \
    "ldr r1, [sp, #8]\n"                                 \
    "str r12, [sp]\n"                                    \
    "cmp r12, r1\n"                                      \
    "bne 10b\n"                                          \
    "add sp, sp, #40\n"                                  \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

/* Two pixels of two channels after the other, all of a task. four(from0, from1): four elements of both pixels, whose sums are added
 * to. The first four begin the sums with the biases; an even number of fours goes on in the middle of the loop. */
#define KIBI_S16_PIXELS_OF_2(four)                              \
    KIBI_S16_PIXELS_BEGIN                                       \
    four("r4", "r5")                                            \
    "bmi 12f\n"                                                 \
    "b 13f\n"                                                   \
    "11:\n" /* eight elements */                                \
    four("r6", "r7")                                            \
    "12:\n"                                                     \
    four("r6", "r7")                                            \
    "13:\n"                                                     \
    KIBI_S16_PIXELS_UNTIL_END("r2")                             \
    KIBI_S16_PIXELS_FINISH                                      \
    KIBI_S16_SCALE("r4", "r5")                                  \
    KIBI_S16_SCALE("r6", "r7")                                  \
    KIBI_S16_RELU(KIBI_S16_OUTPUTS_2(KIBI_S16_NOT_NEGATIVE_CUT)) \
    KIBI_S16_ALL(KIBI_S16_OUTPUTS_2(KIBI_S16_ALL_CUT))          \
    KIBI_S16_RANGES(KIBI_S16_OUTPUTS_2(KIBI_S16_CUT_TO_RANGE))  \
    KIBI_S16_PIXELS_END

/* The outputs of three pixels from their sums, and the next two channels. */
#define KIBI_S16_PIXELS_END_OF_3                                \
    KIBI_S16_PIXELS_FINISH                                      \
    KIBI_S16_SCALE("r4", "r5")                                  \
    KIBI_S16_SCALE("r6", "r7")                                  \
    KIBI_S16_SCALE("r8", "r9")                                  \
    KIBI_S16_RELU(KIBI_S16_OUTPUTS_3(KIBI_S16_NOT_NEGATIVE_CUT)) \
    KIBI_S16_ALL(KIBI_S16_OUTPUTS_3(KIBI_S16_ALL_CUT))          \
    KIBI_S16_RANGES(KIBI_S16_OUTPUTS_3(KIBI_S16_CUT_TO_RANGE))  \
    KIBI_S16_PIXELS_END

#endif
