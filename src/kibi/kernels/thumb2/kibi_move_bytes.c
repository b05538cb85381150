/* Copies of bytes that may overlap, Thumb-2: eight words at once where both sides are aligned, else a word at once. */
#include "kibi_move_bytes.h"

#include "kibi_assembly.h"

/* Each piece is read before any of it is written, and pieces are in an order in which no piece is written over one that is still to be
 * read.
 * Registers and stack:
 *   r0       to
 *   r1       from
 *   r2       bytes left
 *   r3, r12  free; going down, r12 is what is returned
 *   sp + 0   r4 … r9 of the caller, while eight words are copied at once
 * Stack: 24 bytes. */
KIBI_NAKED uint8_t *kibi_move_bytes(KIBI_IN_REGISTER void *to, KIBI_IN_REGISTER const void *from,
                                    KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "subs r3, r0, r1\n"
        "cmp r3, r2\n"
        "blo 6f\n" /* to is inside of what is read: down */
        "orr r3, r0, r1\n"
        "lsls r3, r3, #30\n"
        "bne 2f\n"
        "subs r2, r2, #16\n"
        "blo 1f\n"
        "push {r4, r5, r6, r7, r8, r9}\n"
        "subs r2, r2, #16\n"
        "blo 12f\n"
        "0:\n" /* eight words */
        "ldm r1!, {r3, r4, r5, r6, r7, r8, r9, r12}\n"
        "stm r0!, {r3, r4, r5, r6, r7, r8, r9, r12}\n"
        "subs r2, r2, #32\n"
        "bhs 0b\n"
        "12:\n"
        "adds r2, r2, #16\n"
        "bmi 13f\n"
        "ldm r1!, {r3, r4, r5, r12}\n" /* the last four words */
        "stm r0!, {r3, r4, r5, r12}\n"
        "subs r2, r2, #16\n"
        "13:\n"
        "pop {r4, r5, r6, r7, r8, r9}\n"
        "1:\n"
        "adds r2, r2, #16\n"
        "2:\n"
        "subs r2, r2, #4\n"
        "blo 4f\n"
        "3:\n" /* a word */
        "ldr r3, [r1], #4\n"
        "str r3, [r0], #4\n"
        "subs r2, r2, #4\n"
        "bhs 3b\n"
        "4:\n"
        "adds r2, r2, #4\n"
        "beq 9f\n"
        "5:\n" /* a byte */
        "ldrb r3, [r1], #1\n"
        "strb r3, [r0], #1\n"
        "subs r2, r2, #1\n"
        "bne 5b\n"
        "bx lr\n"
        "6:\n"
        "add r1, r1, r2\n"
        "add r0, r0, r2\n"
        "mov r12, r0\n"
        "cbz r3, 9f\n" /* it is there already */
        "subs r2, r2, #4\n"
        "blo 8f\n"
        "7:\n" /* a word, going down */
        "ldr r3, [r1, #-4]!\n"
        "str r3, [r0, #-4]!\n"
        "subs r2, r2, #4\n"
        "bhs 7b\n"
        "8:\n"
        "adds r2, r2, #4\n"
        "beq 10f\n"
        "11:\n" /* a byte, going down */
        "ldrb r3, [r1, #-1]!\n"
        "strb r3, [r0, #-1]!\n"
        "subs r2, r2, #1\n"
        "bne 11b\n"
        "10:\n"
        "mov r0, r12\n"
        "9:\n"
        "bx lr\n");
}
