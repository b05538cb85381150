/* Sums of products of int8, Armv7E-M: sixteen at once where both rows are aligned, else four. */
#include "kibi_dot_1x1_s8.h"

#include "kibi_dsp.h"

/* Adds the products of four weights and four elements, of which nothing is left. */
#define FOUR(weights, input)                     \
    "sxtb16 r3, " weights "\n"                   \
    "sxtb16 r12, " input "\n"                    \
    "sxtb16 " weights ", " weights ", ror #8\n"  \
    "sxtb16 " input ", " input ", ror #8\n"      \
    "smlad r0, r3, r12, r0\n"                    \
    "smlad r0, " weights ", " input ", r0\n"

/* Registers and stack:
 *   r0         the sum
 *   r1         the weights
 *   r2         the input
 *   r3, r12    free; before: r3 is count
 *   r4 … r7    sixteen weights; r4: four of them, or one
 *   r8 … r11   the same of the input
 *   lr         elements left, less those that are taken at once
 *   sp + 0     r4 … r11, lr of the caller
 * Bytes widen in pairs (0, 2) and (1, 3). Stack: 36 bytes. */
KIBI_NAKED int32_t kibi_dot_1x1_s8(KIBI_IN_REGISTER int32_t start, KIBI_IN_REGISTER const int8_t *w,
                                   KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub lr, r3, #4\n"
        "orr r12, r1, r2\n"
        "lsls r12, r12, #30\n"
        "bne 2f\n" /* words at odd addresses load one by one */
        "subs lr, lr, #12\n"
        "bmi 1f\n"
        "0:\n" /* the next sixteen */
        "ldm r1!, {r4, r5, r6, r7}\n"
        "ldm r2!, {r8, r9, r10, r11}\n"
        FOUR("r4", "r8")
        FOUR("r5", "r9")
        FOUR("r6", "r10")
        FOUR("r7", "r11")
        "subs lr, lr, #16\n"
        "bpl 0b\n"
        "1:\n"
        "add lr, lr, #12\n"
        "2:\n"
        "cmp lr, #0\n"
        "blt 4f\n"
        "3:\n" /* the next four */
        "ldr r4, [r1], #4\n"
        "ldr r8, [r2], #4\n"
        FOUR("r4", "r8")
        "subs lr, lr, #4\n"
        "bpl 3b\n"
        "4:\n" /* whole fours are done */
        "adds lr, lr, #4\n"
        "beq 6f\n"
        "5:\n" /* the next element */
        "ldrsb r4, [r1], #1\n"
        "ldrsb r8, [r2], #1\n"
        "mla r0, r4, r8, r0\n"
        "subs lr, lr, #1\n"
        "bne 5b\n"
        "6:\n" /* the end */
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
