/* Pairs of channels of two to four tiles of a convolution by Winograd's F(2,3), Armv7E-M: the same instructions from every
 * compiler. */
#include "kibi_conv2d_s8_winograd_block.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, output, 0);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, second, 4);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, fourth, 8);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, sixth, 12);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, eighth, 16);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, fifth, 20);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, seventh, 24);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, end, 28);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, columns, 32);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, plane_bytes, 36);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, rounding, 40);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, stream, 44);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, groups, 48);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, tiles, 52);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, clamps, 56);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, low, 60);
KIBI_FIELD_AT(kibi_conv2d_s8_winograd_task, high, 64);

/* Every instruction of the loops has four bytes, so that they can be entered at any of their steps. r0: the stream, r1: a
 * plane, r4 and up: the sums, of both channels of each tile in turn. */
#define BOTH_CHANNELS(first, second, elements, v, w) \
    "smlad " first ", " elements ", " v ", " first "\n" \
    "smlad " second ", " elements ", " w ", " second "\n"

/* A step of two or three tiles: the even and the odd elements of a tile are side by side. */
#define WEIGHTS "ldm r0!, {r2, r3, r10, r11}\n"

#define TILE(first, second)                          \
    "ldrd r12, lr, [r1], #8\n"                       \
    BOTH_CHANNELS(first, second, "r12", "r2", "r3")  \
    BOTH_CHANNELS(first, second, "lr", "r10", "r11")

/* A step of four tiles: first the even elements of all, then the odd ones. */
#define TWO_TILES(a, b, c, d)                        \
    "ldrd r12, lr, [r1], #8\n"                       \
    BOTH_CHANNELS(a, b, "r12", "r2", "r3")           \
    BOTH_CHANNELS(c, d, "lr", "r2", "r3")

#define HALF_OF_FOUR                                 \
    "ldrd r2, r3, [r0], #8\n"                        \
    TWO_TILES("r4", "r5", "r6", "r7")                \
    TWO_TILES("r8", "r9", "r10", "r11")

/* Both channels of a tile, packed into the first one's register. */
#define REQUANTIZE_TILE(first, second)               \
    KIBI_THREE_WIDE_SCALE(first, "r2", "r1")         \
    KIBI_THREE_WIDE_SCALE(second, "r12", "lr")       \
    "bfi " first ", " second ", #8, #8\n"

#define CUT(packed) KIBI_THREE_WIDE_CUT(packed, "r5", "r7")

/* Goes through the plane whose end, and what follows, are at `place` on the stack. */
#define THROUGH_PLANE(place)                         \
    "ldrd r2, r3, [sp, #" place "]\n"                \
    "strd r2, r3, [sp, #60]\n"                       \
    "ldr pc, [sp, #48]\n"

/* The difference of a kept sum and another, and then, in place of the kept one, their sum. */
#define BOTH(sum, kept)                              \
    "sub " sum ", " kept ", " sum "\n"               \
    "rsb " kept ", " sum ", " kept ", lsl #1\n"

/* The same of both sums of a tile, of which the kept ones are at `place` on the stack. */
#define BOTH_OF_TILE(first, second, place)           \
    "ldrd r2, r3, [sp, #" place "]\n"                \
    BOTH(first, "r2")                                \
    BOTH(second, "r3")                               \
    "strd r2, r3, [sp, #" place "]\n"

/* Registers and stack; of two and three tiles, the sums of the others mean nothing:
 *   r0        the stream; before: task
 *   r1        a plane; then exponents; while outputs are stored: the output
 *   r2, r3    weights; then a multiplier and rounding
 *   r4 … r11  the sums, of both channels of each tile in turn; of two and three tiles, r10 and r11 have weights, too
 *   r12, lr   elements; then a multiplier and an exponent
 *   sp + 0    output
 *   sp + 4    second, fourth, sixth, eighth, fifth, seventh
 *   sp + 28   end
 *   sp + 32   columns
 *   sp + 36   plane_bytes
 *   sp + 40   rounding
 *   sp + 44   task
 *   sp + 48   where the loop is entered
 *   sp + 52   where scaling goes on
 *   sp + 56   what follows scaling
 *   sp + 60   where the plane ends, what follows the loop
 *   sp + 68   the same two of each of the four planes
 *   sp + 100  what follows the scaling's sums
 *   sp + 104  kept sums
 *   sp + 136  r4 … r11, lr of the caller
 * Stack: 172 bytes. */
KIBI_NAKED const int32_t *kibi_conv2d_s8_winograd_block(
    KIBI_IN_REGISTER const kibi_conv2d_s8_winograd_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #136\n"
        "str r0, [sp, #44]\n"
        "ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "stm sp, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "ldm r0, {r0, r2, r3, r12}\n"
        /* The last of a loop's four steps is the last group: r4 is where it is entered, r5 where scaling goes on. */
        "rsb r2, r2, #0\n"
        "and r2, r2, #3\n"
        "adr.w r4, 20f\n"
        "adr.w r5, 51f\n"
        /* Bytes of a step: 4 of WEIGHTS, 20 of each TILE; of four tiles, twice 4 and 40. */
        "mov r6, #44\n"
        "cmp r3, #3\n"
        "blo 1f\n"
        "adr.w r4, 30f\n"
        "adr.w r5, 50f\n"
        "mov r6, #64\n"
        "beq 1f\n"
        "adr.w r4, 35f\n"
        "adr.w r5, 49f\n"
        "mov r6, #88\n"
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
        "strd r4, r5, [sp, #48]\n"
        "str r6, [sp, #100]\n"
        /* Where each of the four planes ends, and what follows it. */
        "add r2, r9, r10\n"
        "adr.w r3, 11f\n"
        "orr r3, r3, #1\n"
        "add r4, r2, r10\n"
        "adr.w r5, 12f\n"
        "orr r5, r5, #1\n"
        "add r6, r4, r10\n"
        "adr.w r7, 13f\n"
        "orr r7, r7, #1\n"
        "add r8, r6, r10\n"
        "adr.w r9, 14f\n"
        "orr r9, r9, #1\n"
        "add r12, sp, #68\n"
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
        "mov r10, r4\n"
        "mov r11, r5\n"
        "ldr r1, [sp, #32]\n"
        THROUGH_PLANE("68")
        "11:\n" /* the second plane */
        /* P, with twice the bias, is kept; Q begins from 0. */
        "add r12, sp, #104\n"
        "stm r12, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "mov r4, #0\n"
        "mov r5, #0\n"
        "mov r6, #0\n"
        "mov r7, #0\n"
        "mov r8, #0\n"
        "mov r9, #0\n"
        "mov r10, #0\n"
        "mov r11, #0\n"
        THROUGH_PLANE("76")
        "12:\n" /* the third plane */
        /* P - Q in place of Q, for the second pixels, and P + Q in place of P, for the first ones. */
        BOTH_OF_TILE("r4", "r5", "104")
        BOTH_OF_TILE("r6", "r7", "112")
        BOTH_OF_TILE("r8", "r9", "120")
        BOTH_OF_TILE("r10", "r11", "128")
        THROUGH_PLANE("84")
        /* The second pixels. */
        "13:\n" /* all products of the second pixels */
        "adr.w r12, 60f\n"
        "b.w 40f\n"
        "60:\n" /* store the second pixels */
        "ldm sp, {r1, r2, r3, r5, r7}\n"
        "strh r10, [r1, r7]\n"
        "strh r8, [r1, r5]\n"
        "strh r6, [r1, r3]\n"
        "strh r4, [r1, r2]\n"
        "add r12, sp, #104\n"
        "ldm r12, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        /* The plane follows the one before it, which has ended here. */
        "ldr r1, [sp, #84]\n"
        THROUGH_PLANE("92")
        /* The first pixels. */
        "61:\n" /* store the first pixels */
        "ldm sp, {r1, r2}\n"
        "ldrd r5, r7, [sp, #20]\n"
        "ldr r9, [sp, #28]\n"
        "strh r10, [r1, r7]\n"
        "strh r8, [r1, r5]\n"
        "strh r6, [r1, r2, lsl #1]\n"
        "strh r4, [r1], #2\n"
        "str r1, [sp]\n"
        "cmp r1, r9\n"
        "bne.w 10b\n"
        "add sp, sp, #136\n"
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
        "ldr r12, [sp, #60]\n"
        "cmp r1, r12\n"
        "bne.w 20b\n"
        "ldr pc, [sp, #64]\n");
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
        "ldr r12, [sp, #60]\n"
        "cmp r1, r12\n"
        "bne.w 30b\n"
        "ldr pc, [sp, #64]\n");
    /* Four tiles. */
    __asm__ volatile(
        ".p2align 2\n"
        "35:\n" /* the loop of four tiles */
        ".rept 8\n"
        HALF_OF_FOUR
        ".endr\n"
        "ldr r12, [sp, #60]\n"
        "cmp r1, r12\n"
        "bne.w 35b\n"
        "ldr pc, [sp, #64]\n");
    /* Exponents to r1 and lr, multipliers to r2 and r12, what is added to r3. */
    __asm__ volatile(
        "14:\n" /* all products of the first pixels */
        "adr.w r12, 61b\n"
        "40:\n" /* scale, then go to r12 */
        "str r12, [sp, #56]\n"
        "ldm r0!, {r1, r2, r12}\n"
        "ldr r3, [sp, #40]\n"
        "lsr lr, r1, #8\n"
        "ldr pc, [sp, #52]\n"
        "49:\n" /* scale four tiles */
        REQUANTIZE_TILE("r10", "r11")
        "50:\n" /* scale three tiles */
        REQUANTIZE_TILE("r8", "r9")
        "51:\n" /* scale the first two tiles */
        REQUANTIZE_TILE("r4", "r5")
        REQUANTIZE_TILE("r6", "r7")
        "ldr pc, [sp, #100]\n"
        "70:\n" /* cut to the activation's range */
        "ldr r12, [sp, #44]\n"
        "ldrd r5, r7, [r12, #60]\n"
        CUT("r4")
        CUT("r6")
        CUT("r8")
        CUT("r10")
        "71:\n" /* go on */
        "ldr r12, [sp, #56]\n"
        "mov pc, r12\n");
}
