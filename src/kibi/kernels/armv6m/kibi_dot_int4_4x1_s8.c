/* Sums of products of int8 and int4, Armv6-M: the halves of a factor are the weights of two channels, so one multiplication serves
 * both. Sixteen products of at most 15 * 128 fit a half with its sign. */
#include "kibi_dot_int4_4x1_s8.h"

#include "kibi_assembly.h"

/* Products of the element in r7 and two channels' weights, which begin at a bit of the word in r4. */
#define PRODUCTS(bit, both)     \
    "lsrs r5, r4, #" bit "\n"   \
    "ands r5, r6\n"             \
    "muls r5, r7, r5\n"         \
    "adds " both ", r5\n"

/* The next element and its products. */
#define FIRST                   \
    "ldrb r7, [r1]\n"           \
    "sxtb r7, r7\n"             \
    "movs r5, r4\n"             \
    "ands r5, r6\n"             \
    "muls r5, r7, r5\n"         \
    "adds r2, r5\n"             \
    PRODUCTS("8", "r3")
#define SECOND                  \
    "ldrb r7, [r1, #1]\n"       \
    "sxtb r7, r7\n"             \
    PRODUCTS("4", "r2")         \
    PRODUCTS("12", "r3")

/* What a word of halves holds is added to two sums. A lower half below 0 has borrowed 1 from the upper one. */
#define ADD_HALVES(both, lower, upper)          \
    "sxth r7, " both "\n"                       \
    "ldr r5, [r4, #" lower "]\n"                \
    "adds r5, r5, r7\n"                         \
    "str r5, [r4, #" lower "]\n"                \
    "subs " both ", " both ", r7\n"             \
    "asrs " both ", " both ", #16\n"            \
    "ldr r5, [r4, #" upper "]\n"                \
    "adds r5, r5, " both "\n"                   \
    "str r5, [r4, #" upper "]\n"

/* Registers and stack:
 *   r0        the weights; before: sums
 *   r1        the input; before: w
 *   r2, r3    products of channels 0 and 1, and of 2 and 3, in halves; before: x, count
 *   r4        a word; else free
 *   r5        a factor; else free
 *   r6        ones in the lowest four bits of both halves
 *   r7        an element; else free
 *   r8        sums
 *   r9        where the next elements end, at most sixteen, in whole pairs
 *   r10       elements after these
 *   r11       0 where their number is even
 *   sp + 0    r8 … r11 of the caller
 *   sp + 16   r4 … r7, lr of the caller
 * Stack: 36 bytes. */
KIBI_NAKED void kibi_dot_int4_4x1_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t *w,
                                     KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r4, r5, r6, r7}\n"
        "mov r8, r0\n"
        "mov r10, r3\n"
        "movs r0, r1\n"
        "movs r1, r2\n"
        "movs r6, #15\n"
        "lsls r5, r6, #16\n"
        "orrs r6, r5\n"
        "1:\n" /* the next elements */
        "mov r5, r10\n"
        "movs r4, #16\n"
        "cmp r5, r4\n"
        "bhs 2f\n"
        "movs r4, r5\n"
        "2:\n" /* r4 of them */
        "subs r5, r5, r4\n"
        "mov r10, r5\n"
        "movs r2, #0\n"
        "movs r3, #0\n"
        "lsls r5, r4, #31\n"
        "mov r11, r5\n"
        "lsrs r5, r5, #31\n"
        "subs r4, r4, r5\n"
        "adds r5, r1, r4\n"
        "mov r9, r5\n"
        "cmp r1, r9\n"
        "beq 4f\n"
        "3:\n" /* two elements */
        "ldm r0!, {r4}\n" FIRST SECOND
        "adds r1, #2\n"
        "cmp r1, r9\n"
        "bne 3b\n"
        "4:\n" /* whole pairs are done */
        "mov r5, r11\n"
        "cmp r5, #0\n"
        "beq 5f\n"
        "ldr r4, [r0]\n" FIRST
        "5:\n" /* add the products */
        "mov r4, r8\n" ADD_HALVES("r2", "0", "4") ADD_HALVES("r3", "8", "12")
        "mov r5, r10\n"
        "cmp r5, #0\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4, r5, r6, r7, pc}\n");
}
