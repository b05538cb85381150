/* Sums of products of int8 and int4, Armv7E-M: the halves of a factor are the weights of two channels, so one multiplication
 * serves both. Sixteen products of at most 15 * 128 fit a half with its sign. */
#include "kibi_dot_int4_4x1_s8.h"

#include "kibi_dsp.h"

/* A word of weights for two elements: `multiply` is mla, or mul, which begins anew. */
#define FIRST(word, multiply, even, odd)        \
    "ldrsb lr, [r2], #1\n"                      \
    "and r12, r8, " word "\n"                   \
    multiply " r9, r12, lr" even "\n"           \
    "and r12, r8, " word ", lsr #8\n"           \
    multiply " r10, r12, lr" odd "\n"
#define SECOND(word)                            \
    "ldrsb lr, [r2], #1\n"                      \
    "and r12, r8, " word ", lsr #4\n"           \
    "mla r9, r12, lr, r9\n"                     \
    "and r12, r8, " word ", lsr #12\n"          \
    "mla r10, r12, lr, r10\n"
#define NEXT(word) FIRST(word, "mla", ", r9", ", r10") SECOND(word)
#define TWO "ldrd r0, r11, [r1], #8\n" NEXT("r0") NEXT("r11")

/* What both words of halves hold is added to the sums. A lower half below 0 has borrowed 1 from the upper one. */
#define ADD_HALVES                              \
    "sxtah r4, r4, r9\n"                        \
    "sxtah r6, r6, r10\n"                       \
    "add r9, r9, #0x8000\n"                     \
    "add r10, r10, #0x8000\n"                   \
    "add r5, r5, r9, asr #16\n"                 \
    "add r7, r7, r10, asr #16\n"

/* Registers and stack:
 *   r0         a word; before: sums
 *   r1         the weights; before: w
 *   r2         the input; before: x
 *   r3         elements that are left, less 16; before: count
 *   r4 … r7    the sums
 *   r8         ones in the lowest four bits of both halves
 *   r9, r10    products of channels 0 and 1, and of 2 and 3, in halves
 *   r11        a word
 *   r12        a factor
 *   lr         an element
 *   sp + 0     sums
 *   sp + 4     r4 … r11, lr of the caller
 * Stack: 40 bytes. */
KIBI_NAKED void kibi_dot_int4_4x1_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t *w,
                                     KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r0, {r4, r5, r6, r7}\n"
        "mov r8, #0x000F000F\n"
        "subs r3, r3, #16\n"
        "blo 2f\n"
        "1:\n" /* sixteen elements */
        "ldrd r0, r11, [r1], #8\n" FIRST("r0", "mul", "", "") SECOND("r0") NEXT("r11") TWO TWO TWO ADD_HALVES
        "subs r3, r3, #16\n"
        "bhs 1b\n"
        "2:\n" /* fewer than sixteen are left */
        "adds r3, r3, #14\n" /* less 2 */
        "cmn r3, #2\n"
        "beq 6f\n"
        "movs r0, #0\n"
        "mov r9, r0\n"
        "mov r10, r0\n"
        "cmp r3, #0\n"
        "blt 4f\n"
        "3:\n" /* two elements */
        "ldr r11, [r1], #4\n" NEXT("r11")
        "subs r3, r3, #2\n"
        "bhs 3b\n"
        "4:\n" /* one or none is left */
        "cmn r3, #2\n"
        "beq 5f\n"
        "ldr r11, [r1]\n" FIRST("r11", "mla", ", r9", ", r10")
        "5:\n" ADD_HALVES
        "6:\n" /* the end */
        "pop {r0}\n"
        "stm r0, {r4, r5, r6, r7}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
