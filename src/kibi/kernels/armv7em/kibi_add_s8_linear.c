/* ADD and SUB, int8, one rounding, Armv7E-M: the same instructions from every compiler. */
#include "kibi_binary.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_add_s8_linear_params, factor1, 0);
KIBI_FIELD_AT(kibi_add_s8_linear_params, factor2, 4);
KIBI_FIELD_AT(kibi_add_s8_linear_params, start, 8);
KIBI_FIELD_AT(kibi_add_s8_linear_params, elements, 12);

/* One sum in r12 of the upper or lower halves of r6 or r7 and r8 or r9: 256 times the elements. */
#define SUM(half, first, second)                        \
    "smlaw" half " r12, r3, " first ", r5\n"            \
    "smlaw" half " r12, r4, " second ", r12\n"          \
    "ssat r12, #8, r12, asr #20\n"

/* Registers and stack:
 *   r0       output
 *   r1, r2   the inputs; before: rows, params
 *   r3, r4   factor1, factor2
 *   r5       start
 *   r6 … r9  256 times elements, in halves: r6, r7 of the first input, r8, r9 of the second
 *   r10      0xFF00FF00
 *   r12      free
 *   lr       elements left
 *   sp + 0   r4 … r10, lr of the caller
 * Stack: 32 bytes. */
KIBI_NAKED void kibi_add_s8_linear(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER const int8_t *const *rows,
                                   KIBI_IN_REGISTER const kibi_add_s8_linear_params *params,
                                   KIBI_IN_REGISTER void *scratch)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, lr}\n"
        "ldm r2, {r3, r4, r5, lr}\n"
        "ldm r1, {r1, r2}\n"
        "mov r10, #0xFF00FF00\n"
        "subs lr, lr, #4\n"
        "blo 2f\n"
        "1:\n" /* the next four elements */
        "ldr r6, [r1], #4\n"
        "ldr r8, [r2], #4\n"
        /* Elements become the upper bytes of halves, so 256 times themselves: 0 and 2 in r7, r9, 1 and 3 in r6, r8. */
        "and r7, r10, r6, lsl #8\n"
        "and r9, r10, r8, lsl #8\n"
        "and r6, r6, r10\n"
        "and r8, r8, r10\n"
        SUM("b", "r7", "r9")
        "strb r12, [r0], #4\n"
        SUM("b", "r6", "r8")
        "strb r12, [r0, #-3]\n"
        SUM("t", "r7", "r9")
        "strb r12, [r0, #-2]\n"
        SUM("t", "r6", "r8")
        "strb r12, [r0, #-1]\n"
        "subs lr, lr, #4\n"
        "bhs 1b\n"
        "2:\n" /* fewer than four are left */
        "adds lr, lr, #4\n"
        "beq 4f\n"
        "3:\n" /* the next element */
        "ldrsb r6, [r1], #1\n"
        "ldrsb r8, [r2], #1\n"
        /* 256 times the element, as above */
        "lsl r6, r6, #8\n"
        "lsl r8, r8, #8\n"
        SUM("b", "r6", "r8")
        "strb r12, [r0], #1\n"
        "subs lr, lr, #1\n"
        "bne 3b\n"
        "4:\n" /* the end */
        "pop {r4, r5, r6, r7, r8, r9, r10, pc}\n");
}
