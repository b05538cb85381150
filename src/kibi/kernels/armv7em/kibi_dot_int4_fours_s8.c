/* Sums of products of int8 and int4, from words for four elements, Armv7E-M. A half of a word is the sum of four channels' weights,
 * the second one's 16-fold, the third one's 256-fold, the fourth one's 4096-fold: products with all bits, and with those of the
 * first three channels, give the sums of all four: rule N50. */
#include "kibi_dot_int4_fours_s8.h"

#include "kibi_dsp.h"

/* Four elements at r2: the even ones to r8, the odd ones to r9. */
#define ELEMENTS                                \
    "ldr r8, [r2], #4\n"                        \
    "sxtb16 r9, r8, ror #8\n"                   \
    "sxtb16 r8, r8\n"

/* A word of weights, which is changed, times two elements. */
#define WORD(word, elements)                    \
    "and lr, " word ", #0x000F000F\n"           \
    "smlad r7, " word ", " elements ", r7\n"    \
    "smlad r4, lr, " elements ", r4\n"          \
    "and lr, " word ", #0x00F000F0\n"           \
    "and " word ", " word ", #0x0F000F00\n"     \
    "smlad r5, lr, " elements ", r5\n"          \
    "smlad r6, " word ", " elements ", r6\n"

/* Registers and stack:
 *   r0         a word; before and after: sums
 *   r1         the weights; before: w
 *   r2         the input; before: x
 *   r3         where its whole eights end; then elements that are left; before: count
 *   r4 … r6    products of the first three channels, once, 16-fold and 256-fold
 *   r7         products of all bits
 *   r8, r9     elements
 *   r10 … r12  words
 *   lr         weights of a channel
 *   sp + 0     sums
 *   sp + 4     count
 *   sp + 8     r4 … r11, lr of the caller
 * Stack: 44 bytes. */
KIBI_NAKED void kibi_dot_int4_fours_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t *w,
                                       KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n"
        "bics r3, r3, #7\n"
        "beq 2f\n"
        "add r3, r3, r2\n"
        "1:\n" /* eight elements */
        "ldm r1!, {r0, r10, r11, r12}\n"
        ELEMENTS WORD("r0", "r8") WORD("r10", "r9")
        ELEMENTS WORD("r11", "r8") WORD("r12", "r9")
        "cmp r2, r3\n"
        "bne 1b\n"
        "2:\n" /* fewer than eight are left */
        "ldr r3, [sp, #4]\n"
        "ands r3, r3, #7\n"
        "beq 6f\n"
        "cmp r3, #4\n"
        "blo 3f\n"
        "ldm r1!, {r10, r11}\n"
        ELEMENTS WORD("r10", "r8") WORD("r11", "r9")
        "subs r3, r3, #4\n"
        "beq 6f\n"
        "3:\n" /* one to three, zeros after them */
        "movs r8, #0\n"
        "4:\n" /* the next one, from the last one back */
        "subs r3, r3, #1\n"
        "ldrb r12, [r2, r3]\n"
        "orr r8, r12, r8, lsl #8\n"
        "bne 4b\n"
        "sxtb16 r9, r8, ror #8\n"
        "sxtb16 r8, r8\n"
        "ldm r1, {r10, r11}\n"
        WORD("r10", "r8") WORD("r11", "r9")
        "6:\n" /* add the products */
        "pop {r0, r3}\n"
        "ldm r0, {r8, r9, r10, r11}\n"
        "subs r7, r7, r4\n"
        "subs r7, r7, r5\n"
        "subs r7, r7, r6\n"
        "add r8, r8, r4\n"
        "add r9, r9, r5, asr #4\n"
        "add r10, r10, r6, asr #8\n"
        "add r11, r11, r7, asr #12\n"
        "stm r0, {r8, r9, r10, r11}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
