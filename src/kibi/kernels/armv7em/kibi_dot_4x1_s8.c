/* Sums of products of int8, Armv7E-M. */
#include "kibi_dot_4x1_s8.h"

#include "kibi_dsp.h"

/* One row's four weights, loaded from `place`, times r8 and r9. */
#define ROW(place, sum)                    \
    "ldr.w r10, " place "\n"               \
    "sxtb16 r12, r10\n"                  \
    "sxtb16 r10, r10, ror #8\n"          \
    "smlad " sum ", r12, r8, " sum "\n"    \
    "smlad " sum ", r10, r9, " sum "\n"

/* Four elements of each: r4 … r7 are the sums, r0 the weights, r1 the stride and r3 three of them, r2 the input. Bytes widen
 * in pairs (0, 2) and (1, 3). */
#define STEP                        \
    "ldr r9, [r2], #4\n"          \
    "sxtb16 r8, r9\n"             \
    "sxtb16 r9, r9, ror #8\n"     \
    ROW("[r0, r1]", "r5")           \
    ROW("[r0, r1, lsl #1]", "r6")   \
    ROW("[r0, r3]", "r7")           \
    ROW("[r0], #4", "r4")

/* Registers and stack:
 *   r0             the first row of weights; before: sums
 *   r1             stride; before: start
 *   r2             the input; before: w
 *   r3             three strides; before: stride
 *   r4 … r7        the sums
 *   r8 … r10, r12  free
 *   r11            where whole fours of the first row end; then free
 *   lr             where the first row ends
 *   sp + 0         sums
 *   sp + 4         r4 … r11, lr of the caller
 *   sp + 40        x, count: arguments
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
        "bic r12, lr, #3\n"
        "add r11, r0, r12\n"
        "add lr, r0, lr\n"
        "tst r12, #4\n"
        "bne 2f\n"
        "cmp r0, r11\n"
        "beq 4f\n"
        "1:\n" STEP /* two fours an iteration */
        "2:\n" STEP /* enter with an odd number */
        "cmp r0, r11\n"
        "bne 1b\n"
        "4:\n" /* whole fours are done */
        "cmp r0, lr\n"
        "beq 6f\n"
        "5:\n" /* the next element */
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
        "bne 5b\n"
        "6:\n" /* the end */
        "pop {r0}\n"
        "stm r0, {r4, r5, r6, r7}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
