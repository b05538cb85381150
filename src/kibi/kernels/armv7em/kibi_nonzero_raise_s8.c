/* Elements of a vector, 128 higher, and how many are zero, Armv7E-M. */
#include "kibi_nonzero_sums_s8.h"

#include "kibi_dsp.h"

KIBI_FIELD_AT(kibi_nonzero_counts, total, 0);
KIBI_FIELD_AT(kibi_nonzero_counts, zeros, 4);

/* Registers:
 *   r0, r1, r2    to, from, elements left
 *   r3            counts
 *   r4, r5        total, zeros
 *   r6, r7        0, a one in each byte
 *   r12           four elements
 * Stack: 20 bytes. */
KIBI_NAKED void kibi_nonzero_raise_s8(KIBI_IN_REGISTER uint8_t *to, KIBI_IN_REGISTER const int8_t *from,
                                      KIBI_IN_REGISTER int32_t count, KIBI_IN_REGISTER kibi_nonzero_counts *counts)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, lr}\n"
        "ldrd r4, r5, [r3]\n"
        "movs r6, #0\n"
        "mov r7, #0x01010101\n"
        "subs r2, r2, #4\n"
        "blo 2f\n"
        "1:\n" /* the next four */
        "ldr r12, [r1], #4\n"
        "eor r12, r12, #0x80808080\n"
        "str r12, [r0], #4\n"
        "usada8 r4, r12, r6, r4\n"
        "uqsub8 r12, r7, r12\n" /* 1 where an element is zero */
        "usada8 r5, r12, r6, r5\n"
        "subs r2, r2, #4\n"
        "bhs 1b\n"
        "2:\n"
        "adds r2, r2, #4\n"
        "beq 4f\n"
        "3:\n" /* the next one */
        "ldrb r12, [r1], #1\n"
        "eors r12, r12, #0x80\n"
        "strb r12, [r0], #1\n"
        "add r4, r4, r12\n"
        "it eq\n"
        "addeq r5, r5, #1\n"
        "subs r2, r2, #1\n"
        "bne 3b\n"
        "4:\n"
        "strd r4, r5, [r3]\n"
        "pop {r4, r5, r6, r7, pc}\n");
}
