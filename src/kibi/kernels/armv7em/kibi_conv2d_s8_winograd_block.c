/* Pairs of channels of two or three tiles of a convolution by Winograd's F(2,3), Armv7E-M: the same instructions from every
 * compiler. */
#include "kibi_conv2d_s8_winograd_block.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, output, 0);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, second, 4);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, fourth, 8);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, sixth, 12);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, fifth, 16);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, end, 20);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, columns, 24);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, plane_bytes, 28);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, rounding, 32);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, stream, 36);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, groups, 40);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, tiles, 44);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, clamps, 48);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, low, 52);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, high, 56);

/* Every instruction of the loops has four bytes, so that they can be entered at any of their steps. r0: the stream, r1: a
 * plane, r4 … r9: the sums, of both channels of each tile in turn. */
#define WEIGHTS "ldm r0!, {r2, r3, r10, r11}\n"

#define TILE(first, second)                          \
    "ldrd r12, lr, [r1], #8\n"                       \
    "smlad " first ", r12, r2, " first "\n"          \
    "smlad " second ", r12, r10, " second "\n"       \
    "smlad " first ", lr, r3, " first "\n"           \
    "smlad " second ", lr, r11, " second "\n"

/* Both channels of a tile, packed into the first one's register. */
#define REQUANTIZE_TILE(first, second)               \
    KIBI_THREE_WIDE_SCALE(first, "r10", "r2")        \
    KIBI_THREE_WIDE_SCALE(second, "r11", "lr")       \
    "bfi " first ", " second ", #8, #8\n"

/* Goes through the plane whose end, and what follows, are at `place` on the stack. */
#define THROUGH_PLANE(place)                         \
    "ldrd r2, r3, [sp, #" place "]\n"                \
    "strd r2, r3, [sp, #52]\n"                       \
    "ldr pc, [sp, #40]\n"

/* The difference of a kept sum and another, and then, in place of the kept one, their sum. */
#define BOTH(sum, kept)                              \
    "sub " sum ", " kept ", " sum "\n"               \
    "rsb " kept ", " sum ", " kept ", lsl #1\n"

/* Registers and stack:
 *   r0        the stream; before: task
 *   r1        a plane
 *   r2, r3    weights of the first channel; then exponent and rounding; r2: then the output
 *   r4 … r9   the sums, of both channels of each tile in turn
 *   r10, r11  weights of the second channel; then multipliers; then low and high
 *   r12, lr   elements; lr: then an exponent; r12: else free
 *   sp + 0    output
 *   sp + 4    second, fourth, sixth, fifth
 *   sp + 20   end
 *   sp + 24   columns
 *   sp + 28   plane_bytes
 *   sp + 32   rounding
 *   sp + 36   task
 *   sp + 40   where the loop is entered
 *   sp + 44   where scaling goes on
 *   sp + 48   what follows scaling
 *   sp + 52   where the plane ends, what follows the loop
 *   sp + 60   the same two of each of the four planes
 *   sp + 92   what follows the scaling's sums
 *   sp + 96   kept sums
 *   sp + 120  free
 *   sp + 124  r4 … r11, lr of the caller
 * Stack: 160 bytes. */
KIBI_NAKED const int32_t *kibi_conv2d_s8_winograd_block(
    KIBI_IN_REGISTER const kibi_conv2d_s8_winograd_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #124\n"
        "str r0, [sp, #36]\n"
        "ldm r0!, {r4, r5, r6, r7, r8, r9, r10, r11, r12}\n"
        "stm sp, {r4, r5, r6, r7, r8, r9, r10, r11, r12}\n"
        "ldm r0, {r0, r2, r3, r12}\n"
        /* The last of a loop's four steps is the last group: r4 is where it is entered, r5 where scaling goes on. */
        "rsb r2, r2, #0\n"
        "and r2, r2, #3\n"
        "adr.w r4, 20f\n"
        "adr.w r5, 51f\n"
        /* Bytes of a step: 4 of WEIGHTS, 20 of each TILE. */
        "mov r6, #44\n"
        "cmp r3, #3\n"
        "bne 1f\n"
        "adr.w r4, 30f\n"
        "adr.w r5, 50f\n"
        "mov r6, #64\n"
        "1:\n" /* r4: into the loop, r5: scaling */
        "mla r4, r2, r6, r4\n"
        "adr.w r6, 71f\n"
        "cmp r12, #0\n"
        "beq 2f\n"
        "adr.w r6, 70f\n"
        "2:\n" /* r6: what follows scaling */
        /* Addresses that are loaded to pc have the lowest bit set: Thumb. */
        "orr r4, r4, #1\n"
        "orr r5, r5, #1\n"
        "orr r6, r6, #1\n"
        "strd r4, r5, [sp, #40]\n"
        "str r6, [sp, #92]\n"
        /* Where each of the four planes ends, and what follows it. */
        "add r2, r10, r11\n"
        "adr.w r3, 11f\n"
        "orr r3, r3, #1\n"
        "add r4, r2, r11\n"
        "adr.w r5, 12f\n"
        "orr r5, r5, #1\n"
        "add r6, r4, r11\n"
        "adr.w r7, 13f\n"
        "orr r7, r7, #1\n"
        "add r8, r6, r11\n"
        "adr.w r9, 14f\n"
        "orr r9, r9, #1\n"
        "add r12, sp, #60\n"
        "stm r12, {r2, r3, r4, r5, r6, r7, r8, r9}\n");
    /* A pair of channels. With inputs x0 … x3 and weights a, b, c, the planes are x1 + x2, x2 - x1, x3 - x1 and x0 - x2, and
     *   P = (x1 + x2) * (a + b + c)
     *   Q = (x2 - x1) * (a - b + c)
     *   P + Q + (x0 - x2) * 2 * a    is twice the first pixel,
     *   P - Q + (x3 - x1) * 2 * c    is twice the second one. */
    __asm__ volatile(
        "10:\n" /* the next pair, from biases: the first plane */
        "ldrd r4, r5, [r0], #8\n"
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "ldr r1, [sp, #24]\n"
        THROUGH_PLANE("60")
        "11:\n" /* the second plane */
        /* P, with twice the bias, is kept; Q begins from 0. */
        "add r12, sp, #96\n"
        "stm r12, {r4, r5, r6, r7, r8, r9}\n"
        "mov r4, #0\n"
        "mov r5, #0\n"
        "mov r6, #0\n"
        "mov r7, #0\n"
        "mov r8, #0\n"
        "mov r9, #0\n"
        THROUGH_PLANE("68")
        "12:\n" /* the third plane */
        "add r12, sp, #96\n"
        /* P - Q in place of Q, for the second pixels, and P + Q in place of P, for the first ones. */
        "ldm r12, {r2, r3, r10, r11}\n"
        BOTH("r4", "r2")
        BOTH("r5", "r3")
        BOTH("r6", "r10")
        BOTH("r7", "r11")
        "stm r12!, {r2, r3, r10, r11}\n"
        "ldm r12, {r2, r3}\n"
        BOTH("r8", "r2")
        BOTH("r9", "r3")
        "stm r12, {r2, r3}\n"
        THROUGH_PLANE("76")
        /* The second pixels. */
        "13:\n" /* all products of the second pixels */
        "adr.w r12, 60f\n"
        "b.w 40f\n"
        "60:\n" /* store the second pixels */
        "ldm sp, {r2, r3, r10, r11}\n"
        "strh r8, [r2, r11]\n"
        "strh r6, [r2, r10]\n"
        "strh r4, [r2, r3]\n"
        "add r12, sp, #96\n"
        "ldm r12, {r4, r5, r6, r7, r8, r9}\n"
        THROUGH_PLANE("84")
        /* The first pixels. */
        "61:\n" /* store the first pixels */
        "ldm sp, {r2, r3}\n"
        "ldrd r10, r11, [sp, #16]\n"
        "strh r8, [r2, r10]\n"
        "strh r6, [r2, r3, lsl #1]\n"
        "strh r4, [r2], #2\n"
        "str r2, [sp]\n"
        "cmp r2, r11\n"
        "bne.w 10b\n"
        "add sp, sp, #124\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
    /* Two tiles. */
    __asm__ volatile(
        ".p2align 2\n"
        "20:\n" /* the loop of two tiles */
        ".rept 4\n"
        WEIGHTS
        TILE("r4", "r5")
        TILE("r6", "r7")
        ".endr\n"
        "ldr r12, [sp, #52]\n"
        "cmp r1, r12\n"
        "bne.w 20b\n"
        "ldr pc, [sp, #56]\n");
    /* Three tiles. */
    __asm__ volatile(
        ".p2align 2\n"
        "30:\n" /* the loop of three tiles */
        ".rept 4\n"
        WEIGHTS
        TILE("r4", "r5")
        TILE("r6", "r7")
        TILE("r8", "r9")
        ".endr\n"
        "ldr r12, [sp, #52]\n"
        "cmp r1, r12\n"
        "bne.w 30b\n"
        "ldr pc, [sp, #56]\n");
    /* Exponents to r2 and lr, multipliers to r10 and r11, what is added to r3. */
    __asm__ volatile(
        "14:\n" /* all products of the first pixels */
        "adr.w r12, 61b\n"
        "40:\n" /* scale, then go to r12 */
        "str r12, [sp, #48]\n"
        "ldm r0!, {r2, r10, r11}\n"
        "ldr r3, [sp, #32]\n"
        "lsr lr, r2, #8\n"
        "ldr pc, [sp, #44]\n"
        "50:\n" /* scale three tiles */
        REQUANTIZE_TILE("r8", "r9")
        "51:\n" /* scale the first two tiles */
        REQUANTIZE_TILE("r4", "r5")
        REQUANTIZE_TILE("r6", "r7")
        "ldr pc, [sp, #92]\n"
        "70:\n" /* cut to the activation's range */
        "ldr r12, [sp, #36]\n"
        "ldrd r10, r11, [r12, #52]\n"
        KIBI_THREE_WIDE_CLAMP("r4")
        KIBI_THREE_WIDE_CLAMP("r6")
        KIBI_THREE_WIDE_CLAMP("r8")
        "71:\n" /* go on */
        "ldr r12, [sp, #48]\n"
        "mov pc, r12\n");
}
