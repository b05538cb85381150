/* Sums of products of int8, Armv6-M. */
#include "kibi_dot_2x2_s8.h"

#include "kibi_assembly.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, rows, 0);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, offset, 4);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, distance, 8);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, pieces, 12);
KIBI_FIELD_AT(kibi_dot_2x2_s8_inputs, count, 16);

/* One element of each: r8 … r11 are the sums; r0 and r1 are the ends of both rows of weights, r2 and r3 those of both inputs;
 * r4 is the element, counted from there. */
#define STEP                \
    "ldrsb r5, [r0, r4]\n"  \
    "ldrsb r6, [r2, r4]\n"  \
    "movs r7, r5\n"         \
    "muls r7, r6, r7\n"     \
    "add r8, r7\n"          \
    "ldrsb r7, [r3, r4]\n"  \
    "muls r5, r7, r5\n"     \
    "add r10, r5\n"         \
    "ldrsb r5, [r1, r4]\n"  \
    "muls r6, r5, r6\n"     \
    "add r9, r6\n"          \
    "muls r7, r5, r7\n"     \
    "add r11, r7\n"         \
    "adds r4, #1\n"

/* Registers and stack:
 *   r0, r1    ends of the piece in both rows of weights; before: sums, bias
 *   r2, r3    ends of the piece in both inputs; before: w, x
 *   r4        the element, counted from the ends: below 0
 *   r5 … r7   free
 *   r8 … r11  the sums
 *   r12       after the last piece's row
 *   lr        the next piece's row
 *   sp + 0    sums
 *   sp + 4    x
 *   sp + 8    r8 … r11 of the caller
 *   sp + 24   r4 … r7, lr of the caller
 * Stack: 44 bytes. */
KIBI_NAKED void kibi_dot_2x2_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t bias[2],
                                KIBI_IN_REGISTER const int8_t *w, KIBI_IN_REGISTER const kibi_dot_2x2_s8_inputs *x)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r0, r3, r4, r5, r6, r7}\n"
        "ldm r1!, {r4, r5}\n"
        /* the biases of both rows: r8, r9 are sums of the first input, r10, r11 of the second */
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r4\n"
        "mov r11, r5\n"
        "movs r0, r2\n"
        "ldr r4, [r3]\n"
        "mov lr, r4\n" /* the next piece's row */
        "ldr r5, [r3, #12]\n"
        "lsls r6, r5, #2\n"
        "adds r4, r4, r6\n"
        "mov r12, r4\n" /* after the last row */
        "ldr r6, [r3, #16]\n"
        "muls r5, r6, r5\n"
        /* all pieces of a row of weights, and then those of the second row */
        "adds r1, r0, r5\n"
        "1:\n" /* the next piece */
        "ldr r7, [sp, #4]\n"
        "mov r4, lr\n"
        "ldm r4!, {r2}\n"
        "mov lr, r4\n"
        "ldr r4, [r7, #16]\n" /* count */
        "ldr r5, [r7, #4]\n"  /* offset */
        "ldr r6, [r7, #8]\n"  /* distance */
        "adds r2, r2, r5\n"
        "adds r2, r2, r4\n"
        "adds r3, r2, r6\n"
        "adds r0, r0, r4\n"
        "adds r1, r1, r4\n"
        /* one index, from -count up to 0, serves all four pointers, which point to the ends */
        "rsbs r4, r4, #0\n"
        "lsls r5, r4, #31\n"
        "bmi 3f\n"
        "2:\n" STEP /* two elements an iteration */
        "3:\n" STEP /* enter with an odd number */
        /* flags are those of the step's last addition: the index has come to 0 */
        "bne 2b\n"
        "cmp lr, r12\n"
        "bne 1b\n"
        "pop {r0, r1}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "stm r0!, {r4, r5, r6, r7}\n"
        "pop {r4, r5, r6, r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4, r5, r6, r7, pc}\n");
}
