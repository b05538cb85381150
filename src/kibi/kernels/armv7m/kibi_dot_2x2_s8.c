/* Sums of products of int8, Armv7-M. */
#include "kibi_dot_2x2_s8.h"

#include "kibi_assembly.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, rows, 0);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, offset, 4);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, distance, 8);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, pieces, 12);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, count, 16);

/* One element of each: r4 … r7 are the sums, r0 the weights and r1 the distance to their second row, r2 the first input
 * and r3 the distance to the second. */
#define STEP                       \
    "ldrsb.w r10, [r0, r1]\n"      \
    "ldrsb.w r12, [r2, r3]\n"      \
    "ldrsb r9, [r0], #1\n"       \
    "ldrsb r11, [r2], #1\n"      \
    "mla r7, r10, r12, r7\n"       \
    "mla r5, r10, r11, r5\n"       \
    "mla r4, r9, r11, r4\n"        \
    "mla r6, r9, r12, r6\n"

/* Registers and stack:
 *   r0        the first row of weights; before: sums
 *   r1        bytes from there to the second row; before: bias
 *   r2        the first input; before: w
 *   r3        bytes from there to the second input; before: x
 *   r4 … r7   the sums
 *   r8        where the piece's weights end
 *   r9 … r12  free
 *   lr        the next piece's row
 *   sp + 0    sums
 *   sp + 4    x
 *   sp + 8    r4 … r11 of the caller
 *   sp + 40   after the last piece's row
 *   sp + 44   lr of the caller
 * Stack: 48 bytes. */
KIBI_NAKED void kibi_dot_2x2_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t bias[2],
                                KIBI_IN_REGISTER const int8_t *w, KIBI_IN_REGISTER const kibi_dot_2x2_s8_inputs *x)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n"
        "ldrd r4, r5, [r1]\n"
        /* the biases of both rows: r4, r5 are sums of the first input, r6, r7 of the second */
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r0, r2\n"
        "ldr lr, [r3]\n"              /* the next piece's row */
        "ldrd r10, r8, [r3, #12]\n"   /* pieces, count */
        /* all pieces of a row of weights, and then those of the second row */
        "mul r1, r10, r8\n"
        "add r10, lr, r10, lsl #2\n"
        "str r10, [sp, #40]\n"        /* after the last row */
        "1:\n" /* the next piece */
        "ldr r10, [sp, #4]\n"
        "ldr r2, [lr], #4\n"
        "ldrd r9, r3, [r10, #4]\n"    /* offset, distance */
        "ldr r8, [r10, #16]\n"
        "add r2, r2, r9\n"
        /* elements over whole fours come in the first iteration, which begins at a later step for them */
        "ands r9, r8, #3\n"
        "add r8, r8, r0\n"
        "beq 2f\n"
        "cmp r9, #2\n"
        "bhi 3f\n"
        "beq 4f\n"
        "b 5f\n"
        "2:\n" STEP /* four elements an iteration */
        "3:\n" STEP /* enter with three left over */
        "4:\n" STEP /* with two */
        "5:\n" STEP /* with one */
        "cmp r0, r8\n"
        "bne 2b\n"
        "ldr r10, [sp, #40]\n"
        "cmp lr, r10\n"
        "bne 1b\n"
        "pop {r0, r3}\n"
        "stm r0, {r4, r5, r6, r7}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n");
}
