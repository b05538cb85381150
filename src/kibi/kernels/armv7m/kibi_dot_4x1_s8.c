/* Sums of products of int8, Armv7-M. */
#include "kibi_dot_4x1_s8.h"

#include "kibi_assembly.h"

/* One element of each: r4 … r7 are the sums, r0 the weights, r1 the stride and r3 three of them, r2 the input. */
#define STEP                            \
    "ldrsb r8, [r2], #1\n"            \
    "ldrsb.w r9, [r0, r1]\n"            \
    "ldrsb.w r10, [r0, r1, lsl #1]\n"   \
    "ldrsb.w r11, [r0, r3]\n"           \
    "ldrsb r12, [r0], #1\n"           \
    "mla r5, r8, r9, r5\n"              \
    "mla r6, r8, r10, r6\n"             \
    "mla r7, r8, r11, r7\n"             \
    "mla r4, r8, r12, r4\n"

/* Registers and stack:
 *   r0        the first row of weights; before: sums
 *   r1        stride; before: start
 *   r2        the input; before: w
 *   r3        three strides; before: stride
 *   r4 … r7   the sums
 *   r8 … r12  free
 *   lr        where the first row ends
 *   sp + 0    sums
 *   sp + 4    r4 … r11, lr of the caller
 *   sp + 40   x, count: arguments
 * Stack: 40 bytes. */
KIBI_NAKED void kibi_dot_4x1_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t start[4],
                                KIBI_IN_REGISTER const int8_t *w, KIBI_IN_REGISTER int32_t stride,
                                KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r1, {r4, r5, r6, r7}\n"
        "mov r0, r2\n"
        "mov r1, r3\n"
        "add r3, r3, r3, lsl #1\n"
        "ldrd r2, lr, [sp, #40]\n" /* x, count */
        /* elements over whole fours come in the first iteration, which begins at a later step for them */
        "ands r12, lr, #3\n"
        "add lr, r0, lr\n"
        "beq 1f\n"
        "cmp r12, #2\n"
        "bhi 2f\n"
        "beq 3f\n"
        "b 4f\n"
        "1:\n" STEP /* four elements an iteration */
        "2:\n" STEP /* enter with three left over */
        "3:\n" STEP /* with two */
        "4:\n" STEP /* with one */
        "cmp r0, lr\n"
        "bne 1b\n"
        "pop {r0}\n"
        "stm r0, {r4, r5, r6, r7}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
