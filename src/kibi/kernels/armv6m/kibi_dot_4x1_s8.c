/* Sums of products of int8, Armv6-M. */
#include "kibi_dot_4x1_s8.h"

#include "kibi_assembly.h"

/* One element of each: r8 … r11 are the sums; r0 … r3 are the ends of the rows of weights, r4 that of the input; r5 is the
 * element, counted from there. */
#define STEP                \
    "ldrsb r6, [r4, r5]\n"  \
    "ldrsb r7, [r0, r5]\n"  \
    "muls r7, r6, r7\n"     \
    "add r8, r7\n"          \
    "ldrsb r7, [r1, r5]\n"  \
    "muls r7, r6, r7\n"     \
    "add r9, r7\n"          \
    "ldrsb r7, [r2, r5]\n"  \
    "muls r7, r6, r7\n"     \
    "add r10, r7\n"         \
    "ldrsb r7, [r3, r5]\n"  \
    "muls r6, r7, r6\n"     \
    "add r11, r6\n"         \
    "adds r5, #1\n"

/* Registers and stack:
 *   r0 … r3   ends of the four rows of weights; before: sums, start, w, stride
 *   r4        end of the input
 *   r5        the element, counted from the ends: below 0
 *   r6, r7    free
 *   r8 … r11  the sums
 *   sp + 0    sums
 *   sp + 4    r8 … r11 of the caller
 *   sp + 20   r4 … r7, lr of the caller
 *   sp + 40   x, count: arguments
 * Stack: 40 bytes. */
KIBI_NAKED void kibi_dot_4x1_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t start[4],
                                KIBI_IN_REGISTER const int8_t *w, KIBI_IN_REGISTER int32_t stride,
                                KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r0, r4, r5, r6, r7}\n"
        "ldm r1!, {r4, r5, r6, r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "ldr r4, [sp, #40]\n" /* x */
        "ldr r5, [sp, #44]\n" /* count */
        "adds r4, r4, r5\n"
        "adds r0, r2, r5\n"
        "movs r6, r3\n"
        "adds r1, r0, r6\n"
        "adds r2, r1, r6\n"
        "adds r3, r2, r6\n"
        /* one index, from -count up to 0, serves all five pointers, which point to the ends */
        "rsbs r5, r5, #0\n"
        "lsls r6, r5, #31\n"
        "bmi 2f\n"
        "1:\n" STEP /* two elements an iteration */
        "2:\n" STEP /* enter with an odd number */
        /* flags are those of the step's last addition: the index has come to 0 */
        "bne 1b\n"
        "pop {r0}\n"
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
