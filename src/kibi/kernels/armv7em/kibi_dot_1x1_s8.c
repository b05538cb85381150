/* Sums of products of int8, Armv7E-M. */
#include "kibi_dot_1x1_s8.h"

#include "kibi_dsp.h"

/* Registers and stack:
 *   r0            the sum
 *   r1            the weights
 *   r2            the input
 *   r3            where whole fours of weights end; before: count
 *   r4 … r6, r12  free
 *   lr            where the weights end
 *   sp + 0        r4 … r6, lr of the caller
 * Bytes widen in pairs (0, 2) and (1, 3). Stack: 16 bytes. */
KIBI_NAKED int32_t kibi_dot_1x1_s8(KIBI_IN_REGISTER int32_t start, KIBI_IN_REGISTER const int8_t *w,
                                   KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, lr}\n"
        "add lr, r1, r3\n"
        "bics r3, r3, #3\n"
        "beq 4f\n"
        "add r3, r1, r3\n"
        "1:\n" /* the next four */
        "ldr r5, [r1], #4\n"
        "ldr r6, [r2], #4\n"
        "sxtb16 r4, r5\n"
        "sxtb16 r12, r6\n"
        "sxtb16 r5, r5, ror #8\n"
        "sxtb16 r6, r6, ror #8\n"
        "smlad r0, r4, r12, r0\n"
        "smlad r0, r5, r6, r0\n"
        "cmp r1, r3\n"
        "bne 1b\n"
        "4:\n" /* whole fours are done */
        "cmp r1, lr\n"
        "beq 6f\n"
        "5:\n" /* the next element */
        "ldrsb r5, [r1], #1\n"
        "ldrsb r6, [r2], #1\n"
        "mla r0, r5, r6, r0\n"
        "cmp r1, lr\n"
        "bne 5b\n"
        "6:\n" /* the end */
        "pop {r4, r5, r6, pc}\n");
}
