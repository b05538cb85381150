/* Pairs of channels of two or three pixels of a convolution whose windows, three wide, share columns, Armv7E-M: the same
 * instructions from every compiler. */
#include "kibi_conv2d_s8_columns_block.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, output, 0);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, second, 4);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, third, 8);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, end, 12);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, columns, 16);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, columns_end, 20);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, rounding, 24);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, sums, 28);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, stream, 32);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, groups, 36);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, flags, 40);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, low, 44);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, high, 48);

/* Every instruction of the loops has four bytes, so that they can be entered in the middle. r0: the stream, r1: 8 bytes in
 * front of a group's columns, r4 … r9: the sums, of both channels of each pixel in turn. A word of weights times the even
 * elements, then its second weights times the others. */
#define WEIGHTS                                      \
    "ldrd r10, r11, [r0], #8\n"                      \
    "sxtb16 r2, r10\n"                               \
    "sxtb16 r3, r11\n"

#define PRODUCTS(first, second)                      \
    "smlad " first ", r12, r10, " first "\n"         \
    "smlad " second ", r12, r11, " second "\n"       \
    "smlad " first ", lr, r2, " first "\n"           \
    "smlad " second ", lr, r3, " second "\n"

#define PIXEL(column, first, second)                 \
    "ldrd r12, lr, [r1, #" column "]\n"              \
    PRODUCTS(first, second)

/* Four input channels of the three columns; the last pixel's last column leads to the next group. */
#define GROUP2                                                                             \
    WEIGHTS PIXEL("8", "r4", "r5") PIXEL("16", "r6", "r7")                                 \
    WEIGHTS PIXEL("16", "r4", "r5") PIXEL("24", "r6", "r7")                                \
    WEIGHTS PIXEL("24", "r4", "r5") "ldrd r12, lr, [r1, #32]!\n" PRODUCTS("r6", "r7")

#define GROUP3                                                                             \
    WEIGHTS PIXEL("8", "r4", "r5") PIXEL("16", "r6", "r7") PIXEL("24", "r8", "r9")         \
    WEIGHTS PIXEL("16", "r4", "r5") PIXEL("24", "r6", "r7") PIXEL("32", "r8", "r9")        \
    WEIGHTS PIXEL("24", "r4", "r5") PIXEL("32", "r6", "r7")                                \
    "ldrd r12, lr, [r1, #40]!\n" PRODUCTS("r8", "r9")

/* Both channels of a pixel, from 256 times their sums, packed into the first one's register. */
#define REQUANTIZE_PIXEL(first, second)              \
    "asr " first ", " first ", #7\n"                 \
    "asr " second ", " second ", #7\n"               \
    KIBI_THREE_WIDE_SCALE(first, "r10", "r2")        \
    KIBI_THREE_WIDE_SCALE(second, "r11", "lr")       \
    "bfi " first ", " second ", #8, #8\n"

/* Exponents to r2 and lr, multipliers to r10 and r11, what is added to r3. */
#define CONSTANTS                                    \
    "ldm r0!, {r2, r10, r11}\n"                      \
    "ldr r3, [sp, #24]\n"                            \
    "lsr lr, r2, #8\n"

/* Registers and stack:
 *   r0        the stream; before: task
 *   r1        8 bytes before a group's columns; while outputs are stored: the output
 *   r2, r3    second weights of both channels; then exponent and rounding
 *   r4 … r9   the sums, of both channels of each pixel in turn
 *   r10, r11  weights; then multipliers; then low and high
 *   r12, lr   elements; lr: then an exponent; r12: else free
 *   sp + 0    output
 *   sp + 4    second, third
 *   sp + 12   end
 *   sp + 16   columns - 8 bytes
 *   sp + 20   columns_end - 8 bytes
 *   sp + 24   rounding
 *   sp + 28   the next sums
 *   sp + 32   where the loop is entered
 *   sp + 36   how a pair begins
 *   sp + 40   what follows the loop
 *   sp + 44   what follows scaling
 *   sp + 48   task
 *   sp + 52   r4 … r11, lr of the caller
 * Stack: 88 bytes. */
KIBI_NAKED const int32_t *kibi_conv2d_s8_columns_block(KIBI_IN_REGISTER const kibi_conv2d_s8_columns_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #52\n"
        "str r0, [sp, #48]\n"
        "ldm r0!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        /* r1 is 8 bytes before a group's columns: the group's last load (`!`) leaves it so for the next group. */
        "sub r8, r8, #8\n"
        "sub r9, r9, #8\n"
        "stm sp, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "ldm r0, {r0, r2, r3}\n"
        "adr.w r4, 20f\n"
        "adr.w r6, 50f\n"
        "tst r3, #8\n"
        "beq 2f\n"
        /* The loop of three pixels goes by two groups; an odd number enters it at the second one. */
        "adr.w r4, 30f\n"
        "adr.w r6, 31f\n"
        "tst r2, #1\n"
        "beq 2f\n"
        /* 216 bytes: one GROUP3, three times 3 instructions for weights and 3 * 5 for pixels */
        "add r4, r4, #216\n"
        "2:\n" /* r4: the loop, r6: what follows it */
        "adr.w r5, 10f\n"
        "tst r3, #2\n"
        "beq 3f\n"
        "adr.w r5, 11f\n"
        "adr.w r6, 60f\n"
        "3:\n" /* r5: how a pair begins */
        "tst r3, #1\n"
        "beq 4f\n"
        "adr.w r5, 12f\n"
        "4:\n" /* the same, from earlier sums */
        "adr.w r7, 71f\n"
        "tst r3, #4\n"
        "beq 5f\n"
        "adr.w r7, 70f\n"
        "5:\n" /* r7: what follows scaling */
        /* Addresses that are loaded to pc have the lowest bit set: Thumb. */
        "orr r4, r4, #1\n"
        "orr r5, r5, #1\n"
        "orr r6, r6, #1\n"
        "orr r7, r7, #1\n"
        "add r12, sp, #32\n"
        "stm r12, {r4, r5, r6, r7}\n"
        "bx r5\n"
        /* A pair begins: before its sums are kept, from those of earlier rows, or from biases. */
        "11:\n" /* a pair whose sums are kept for later rows */
        "ldr r12, [sp, #28]\n"
        /* Past the six sums, which are stored downwards from there after the loop, as label 12 leaves it, too. */
        "add r12, r12, #24\n"
        "str r12, [sp, #28]\n"
        "b 10f\n"
        "12:\n" /* a pair from sums of earlier rows */
        "ldr r12, [sp, #28]\n"
        "ldm r12!, {r4, r5, r6, r7, r8, r9}\n"
        "str r12, [sp, #28]\n"
        "b 13f\n"
        "10:\n" /* a pair from biases, the same for all pixels */
        "ldrd r4, r5, [r0], #8\n"
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "13:\n" /* a pair's columns */
        "ldr r1, [sp, #16]\n"
        "ldr pc, [sp, #32]\n");
    /* Two pixels. */
    __asm__ volatile(
        ".p2align 2\n"
        "20:\n" /* the loop of two pixels */
        GROUP2
        "ldr r12, [sp, #20]\n"
        "cmp r1, r12\n"
        "bne.w 20b\n"
        "ldr pc, [sp, #40]\n"
        "60:\n" /* keep the sums */
        "ldr r12, [sp, #28]\n"
        "stmdb r12, {r4, r5, r6, r7, r8, r9}\n"
        "ldm sp, {r1, r2, r3, r12}\n"
        /* No output is written, but the place of one moves on: it tells when the pairs are done. */
        "add r1, r1, #2\n"
        "b 72f\n"
        "50:\n" /* scale two pixels */
        CONSTANTS
        "b 51f\n");
    /* Three pixels. */
    __asm__ volatile(
        "30:\n" /* the loop of three pixels */
        ".rept 2\n"
        GROUP3
        ".endr\n"
        "ldr r12, [sp, #20]\n"
        "cmp r1, r12\n"
        "bne.w 30b\n"
        "ldr pc, [sp, #40]\n"
        "31:\n" /* scale three pixels */
        CONSTANTS
        REQUANTIZE_PIXEL("r8", "r9"));
    __asm__ volatile(
        "51:\n" /* scale the first two pixels */
        REQUANTIZE_PIXEL("r4", "r5")
        REQUANTIZE_PIXEL("r6", "r7")
        "ldr pc, [sp, #44]\n"
        "70:\n" /* cut to the activation's range */
        "ldr r12, [sp, #48]\n"
        "ldrd r10, r11, [r12, #44]\n"
        KIBI_THREE_WIDE_CUT("r4", "r10", "r11")
        KIBI_THREE_WIDE_CUT("r6", "r10", "r11")
        KIBI_THREE_WIDE_CUT("r8", "r10", "r11")
        /* Where there is no third pixel, the second is written over what is stored as such. */
        "71:\n" /* store */
        "ldm sp, {r1, r2, r3, r12}\n"
        "strh r8, [r1, r3]\n"
        "strh r6, [r1, r2]\n"
        "strh r4, [r1], #2\n"
        "72:\n" /* the next pair, if there is one */
        "str r1, [sp]\n"
        "cmp r1, r12\n"
        "it ne\n"
        "ldrne pc, [sp, #36]\n"
        "add sp, sp, #52\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
