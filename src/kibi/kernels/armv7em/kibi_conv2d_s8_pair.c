/* Two neighbouring pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_pair.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_conv2d_s8_windows, multiplier, 0);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, shift, 4);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, output, 8);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, rounding, 12);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, output_channels, 16);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, clamps, 20);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, bias, 24);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, filter, 28);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, end, 32);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, activation_min, 36);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, activation_max, 40);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, rows, 44);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, rows_end, 48);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, offset, 52);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, distance, 56);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, groups, 60);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, count, 64);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, size, 68);

/* Four elements of each: r4 … r7 are the sums, r0 the weights and r1 from there to the second row, r2 the first input and
 * r3 from there to the second. Bytes widen in pairs (0, 2) and (1, 3). */
#define STEP                      \
    "ldr.w r10, [r0, r1]\n"       \
    "ldr r8, [r0], #4\n"        \
    "ldr.w r12, [r2, r3]\n"       \
    "sxtb16 r11, r10, ror #8\n"   \
    "sxtb16 r10, r10\n"           \
    "sxtb16 r9, r8, ror #8\n"     \
    "sxtb16 r8, r8\n"             \
    "sxtb16 lr, r12\n"            \
    "sxtb16 r12, r12, ror #8\n"   \
    "smlad r6, lr, r8, r6\n"      \
    "smlad r7, lr, r10, r7\n"     \
    "smlad r6, r12, r9, r6\n"     \
    "smlad r7, r12, r11, r7\n"    \
    "ldr r12, [r2], #4\n"       \
    "sxtb16 lr, r12\n"            \
    "sxtb16 r12, r12, ror #8\n"   \
    "smlad r4, lr, r8, r4\n"      \
    "smlad r5, lr, r10, r5\n"     \
    "smlad r4, r12, r9, r4\n"     \
    "smlad r5, r12, r11, r5\n"

/* The high 32 bits of 2 * sum * multiplier, rounded half up, for every sum: the doubled multiplier, read as a signed number,
 * is 2**32 too small where it is that large, so that the sum is added then. */
#define MULTIPLY(sum, multiplier)                             \
    "and r2, " sum ", " multiplier ", asr #31\n"              \
    "smmlar " sum ", " sum ", " multiplier ", r2\n"

/* One channel of both pixels, whose shift is in lr. To the right: rounded half away from zero, as floor after 1 was taken
 * from what is negative; all bits but the last are shifted out, then the zero point joins, saturating as it may, for the
 * output is cut to int8 anyway. */
#define REQUANTIZE(first, second, multiplier, left, back)     \
    "lsl " multiplier ", " multiplier ", #1\n"                \
    "mvns lr, lr\n"                                           \
    "bmi " left "f\n"                                         \
    MULTIPLY(first, multiplier)                               \
    MULTIPLY(second, multiplier)                              \
    "add " first ", " first ", " first ", asr #31\n"          \
    "add " second ", " second ", " second ", asr #31\n"       \
    "asr " first ", " first ", lr\n"                          \
    "asr " second ", " second ", lr\n"                        \
    "qadd " first ", " first ", r9\n"                         \
    "qadd " second ", " second ", r9\n"                       \
    "ssat " first ", #8, " first ", asr #1\n"                 \
    "ssat " second ", #8, " second ", asr #1\n"               \
    back ":\n"

/* The same where the shift is to the left, and wraps, as the zero point does. */
#define REQUANTIZE_LEFT(first, second, multiplier, left, back) \
    left ":\n"                                                \
    "mvn lr, lr\n"                                            \
    "lsl " first ", " first ", lr\n"                          \
    "lsl " second ", " second ", lr\n"                        \
    MULTIPLY(first, multiplier)                               \
    MULTIPLY(second, multiplier)                              \
    "add " first ", " first ", r9, asr #1\n"                  \
    "add " second ", " second ", r9, asr #1\n"                \
    "ssat " first ", #8, " first "\n"                         \
    "ssat " second ", #8, " second "\n"                       \
    "b " back "b\n"

#define CLAMP(value)             \
    "cmp " value ", r2\n"        \
    "it lt\n"                    \
    "movlt " value ", r2\n"      \
    "cmp " value ", r3\n"        \
    "it gt\n"                    \
    "movgt " value ", r3\n"

/* Registers and stack:
 *   r0        the weights; before: windows
 *   r1        bytes from there to the second row: size
 *   r2        the first input; while sums are scaled: free
 *   r3        bytes from there to the second; while sums are scaled: shift
 *   r4, r5    sums of the first pixel, both channels
 *   r6, r7    sums of the second pixel
 *   r8        output, while sums are scaled; else free
 *   r9        rounding, likewise
 *   r10, r11  multipliers, likewise
 *   r12       windows, outside of the loops
 *   lr        the shift, while sums are scaled; else free
 *   sp + 0    where the whole fours of the weights end
 *   sp + 4    where the piece ends
 *   sp + 8    the next row
 *   sp + 12   windows
 *   sp + 16   r4 … r11, lr of the caller
 * Stack: 52 bytes. */
KIBI_NAKED void kibi_conv2d_s8_pair(KIBI_IN_REGISTER kibi_conv2d_s8_windows *windows)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #12\n"
        "mov r12, r0\n"
        "ldr r0, [r12, #28]\n" /* filter */
        "ldr r1, [r12, #68]\n" /* size */
        "10:\n" /* the next two channels */
        "ldr r2, [r12, #24]\n" /* bias */
        "ldr r8, [r12, #44]\n" /* rows */
        "ldrd r4, r5, [r2], #8\n"
        "str r2, [r12, #24]\n"
        "mov r6, r4\n"
        "mov r7, r5\n"
        "11:\n" /* the next piece */
        "ldr r2, [r8], #4\n"
        "str r8, [sp, #8]\n"
        "ldrd r9, r3, [r12, #52]\n"   /* offset, distance */
        "ldrd r10, r11, [r12, #60]\n" /* groups, count */
        "add r2, r2, r9\n"
        /* Elements in whole fours, over 8: pairs of fours. The carry says whether one is left over. */
        "lsrs r9, r10, #3\n"
        "add.w r10, r0, r10\n"
        "add.w r11, r0, r11\n"
        "strd r10, r11, [sp]\n"
        "bcs 24f\n" /* an odd number of groups */
        "beq 13f\n"
        "12:\n" STEP /* two fours an iteration */
        "24:\n" STEP /* enter with an odd number */
        "ldr r12, [sp]\n"
        "cmp r0, r12\n"
        "bne 12b\n"
        "13:\n" /* whole fours are done */
        "ldr r8, [sp, #4]\n"
        "cmp r0, r8\n"
        "beq 15f\n"
        "14:\n" /* the next element */
        "ldrsb r10, [r0, r1]\n"
        "ldrsb r9, [r0], #1\n"
        "ldrsb r12, [r2, r3]\n"
        "ldrsb lr, [r2], #1\n"
        "mla r4, lr, r9, r4\n"
        "mla r5, lr, r10, r5\n"
        "mla r6, r12, r9, r6\n"
        "mla r7, r12, r10, r7\n"
        "cmp r0, r8\n"
        "bne 14b\n"
        "15:\n" /* the piece is done */
        "ldrd r8, r12, [sp, #8]\n"
        "ldr r9, [r12, #48]\n" /* rows_end */
        "cmp r8, r9\n"
        "bne 11b\n"
        "ldm r12, {r2, r3, r8, r9}\n" /* multiplier, shift, output, rounding */
        "ldrd r10, r11, [r2], #8\n"
        "ldrsb lr, [r3], #2\n"
        "strd r2, r3, [r12]\n"
        REQUANTIZE("r4", "r6", "r10", "20", "16")
        "ldrsb lr, [r3, #-1]\n"
        REQUANTIZE("r5", "r7", "r11", "21", "17")
        "ldrd r2, r3, [r12, #16]\n" /* output_channels, clamps */
        "cbnz r3, 22f\n"
        "18:\n" /* store */
        "strb r6, [r8, r2]\n"
        "strb r4, [r8], #1\n"
        "strb r7, [r8, r2]\n"
        "strb r5, [r8], #1\n"
        "str r8, [r12, #8]\n"
        "ldr r2, [r12, #32]\n" /* end */
        /* r0 points to the end of the first channel's row: past the second one, too. */
        "add r0, r0, r1\n"
        "cmp r8, r2\n"
        "bne 10b\n"
        "add sp, sp, #16\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "22:\n" /* cut to the activation's range */
        "ldrd r2, r3, [r12, #36]\n" /* activation_min, activation_max */
        CLAMP("r4") CLAMP("r5") CLAMP("r6") CLAMP("r7")
        "ldr r2, [r12, #16]\n"
        "b 18b\n"
        REQUANTIZE_LEFT("r4", "r6", "r10", "20", "16")
        REQUANTIZE_LEFT("r5", "r7", "r11", "21", "17"));
}
