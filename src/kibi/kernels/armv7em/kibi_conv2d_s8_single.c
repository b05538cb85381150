/* One pixel of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_single.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_conv2d_s8_windows, multiplier, 0);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, shift, 4);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, output, 8);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, rounding, 12);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, bias, 24);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, filter, 28);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, end, 32);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, activation_min, 36);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, activation_max, 40);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, rows, 44);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, rows_end, 48);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, offset, 52);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, groups, 60);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, count, 64);
KIBI_FIELD_AT(kibi_conv2d_s8_windows, size, 68);

/* One row's four weights, loaded from `place`, times r8 and r9. */
#define ROW(place, sum)                    \
    "ldr.w r10, " place "\n"               \
    "sxtb16 r12, r10\n"                    \
    "sxtb16 r10, r10, ror #8\n"            \
    "smlad " sum ", r12, r8, " sum "\n"    \
    "smlad " sum ", r10, r9, " sum "\n"

/* Four elements of each: r4 … r7 are the sums, r0 the weights, r1 the size of a row and r3 three of them, r2 the input. Bytes
 * widen in pairs (0, 2) and (1, 3). */
#define STEP                        \
    "ldr r9, [r2], #4\n"          \
    "sxtb16 r8, r9\n"               \
    "sxtb16 r9, r9, ror #8\n"       \
    ROW("[r0, r1]", "r5")           \
    ROW("[r0, r1, lsl #1]", "r6")   \
    ROW("[r0, r3]", "r7")           \
    ROW("[r0], #4", "r4")

/* Registers and stack:
 *   r0        the weights; before: windows
 *   r1        size
 *   r2        the input; while sums are scaled: multiplier
 *   r3        three sizes; while sums are scaled: shift
 *   r4 … r7   the sums; while they are scaled: a sum, its multiplier, where the output ends, the next sum
 *   r8        output, while sums are scaled; else free
 *   r9        rounding, likewise
 *   r10, r11  activation_min, activation_max, likewise; before: r11 is where whole fours end
 *   r12       windows, outside of the loops
 *   lr        where the piece ends; while sums are scaled: the shift
 *   sp + 0    the sums
 *   sp + 16   the next row
 *   sp + 20   windows
 *   sp + 24   r4 … r11, lr of the caller
 * Requantization is that of kibi_conv2d_s8_pair, one by one. Stack: 60 bytes. */
KIBI_NAKED void kibi_conv2d_s8_single(KIBI_IN_REGISTER kibi_conv2d_s8_windows *windows)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #20\n"
        "mov r12, r0\n"
        "ldr r0, [r12, #28]\n" /* filter */
        "ldr r1, [r12, #68]\n" /* size */
        "10:\n" /* the next four channels */
        "ldr r2, [r12, #24]\n" /* bias */
        "ldr r8, [r12, #44]\n" /* rows */
        "ldm r2!, {r4, r5, r6, r7}\n"
        "str r2, [r12, #24]\n"
        "add r3, r1, r1, lsl #1\n"
        "11:\n" /* the next piece */
        "ldr r2, [r8], #4\n"
        "str r8, [sp, #16]\n"
        "ldr r9, [r12, #52]\n"       /* offset */
        "ldrd r11, lr, [r12, #60]\n" /* groups, count */
        "add r2, r2, r9\n"
        /* Elements in whole fours, over 8: pairs of fours. The carry says whether one is left over. */
        "lsrs r9, r11, #3\n"
        "add.w r11, r0, r11\n"
        "add.w lr, r0, lr\n"
        "bcs 13f\n" /* an odd number of groups */
        "beq 14f\n"
        "12:\n" STEP /* two fours an iteration */
        "13:\n" STEP /* enter with an odd number */
        "cmp r0, r11\n"
        "bne 12b\n"
        "14:\n" /* whole fours are done */
        "cmp r0, lr\n"
        "beq 16f\n"
        "15:\n" /* the next element */
        "ldrsb r8, [r2], #1\n"
        "ldrsb r9, [r0, r1]\n"
        "ldrsb r10, [r0, r1, lsl #1]\n"
        "ldrsb r11, [r0, r3]\n"
        "ldrsb r12, [r0], #1\n"
        "mla r5, r8, r9, r5\n"
        "mla r6, r8, r10, r6\n"
        "mla r7, r8, r11, r7\n"
        "mla r4, r8, r12, r4\n"
        "cmp r0, lr\n"
        "bne 15b\n"
        "16:\n" /* the piece is done */
        "ldrd r8, r12, [sp, #16]\n"
        "ldr r9, [r12, #48]\n" /* rows_end */
        "cmp r8, r9\n"
        "bne 11b\n"
        "stm sp, {r4, r5, r6, r7}\n"
        /* r0 points to the end of the first of four rows: past the other three, too. */
        "add r0, r0, r3\n"
        "mov r7, sp\n"
        "ldm r12, {r2, r3, r8, r9}\n"  /* multiplier, shift, output, rounding */
        "ldrd r10, r11, [r12, #36]\n"  /* activation_min, activation_max */
        "add r6, r8, #4\n"
        "17:\n" /* the next channel's sum */
        "ldr r4, [r7], #4\n"
        "ldr r5, [r2], #4\n"
        "ldrsb lr, [r3], #1\n"
        "lsl r5, r5, #1\n"
        "mvns lr, lr\n"
        "bmi 20f\n"
        /* A doubled multiplier, read as a signed number, may be 2**32 too small: the sum is added then. */
        "and r12, r4, r5, asr #31\n"
        "smmlar r4, r4, r5, r12\n"
        /* 1 is taken from what is negative, so that half up is half away from zero. */
        "add r4, r4, r4, asr #31\n"
        "asr r4, r4, lr\n"
        /* One bit is left to shift out: r9 adds half of it, and twice the zero point. */
        "qadd r4, r4, r9\n"
        "asr r4, r4, #1\n"
        "18:\n" /* cut and store */
        "cmp r4, r10\n"
        "it lt\n"
        "movlt r4, r10\n"
        "cmp r4, r11\n"
        "it gt\n"
        "movgt r4, r11\n"
        "strb r4, [r8], #1\n"
        "cmp r8, r6\n"
        "bne 17b\n"
        "ldr r12, [sp, #20]\n"
        "strd r2, r3, [r12]\n"
        "str r8, [r12, #8]\n"
        "ldr r9, [r12, #32]\n" /* end */
        "cmp r8, r9\n"
        "bne 10b\n"
        "add sp, sp, #24\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "20:\n" /* the shift is to the left */
        "mvn lr, lr\n"
        "lsl r4, r4, lr\n"
        "and r12, r4, r5, asr #31\n"
        "smmlar r4, r4, r5, r12\n"
        /* Nothing is left to shift out: of r9, the zero point alone. */
        "add r4, r4, r9, asr #1\n"
        "b 18b\n");
}
