/* Sums of products with Golomb-Rice codes, Armv7E-M. */
#include "kibi_dot_rice_s8.h"

#include "kibi_dsp.h"

KIBI_FIELD_AT(kibi_rice_codes, end, 0);
KIBI_FIELD_AT(kibi_rice_codes, multiples, 4);
KIBI_FIELD_AT(kibi_rice_codes, at, 8);
KIBI_FIELD_AT(kibi_rice_codes, last, 12);
KIBI_FIELD_AT(kibi_rice_codes, k, 16);

/* The bits from the next code on into r12: at least 25, its first one highest. */
#define NEXT_WINDOW \
    KIBI_NOT_ABOVE_IN_ASSEMBLY("r4", "r9") \
    "sub r12, r3, r4, lsr #3\n" \
    "ldr r12, [r12, #-4]\n" \
    "and lr, r4, #7\n" \
    "lsl r12, r12, lr\n"

/* Takes the zeros of the code in r12 away, and leaves the multiple of 2**k that they name in lr. */
#define NEXT_ZEROS \
    "clz lr, r12\n" \
    KIBI_NOT_ABOVE_IN_ASSEMBLY("lr", "#11") \
    "lsl r12, r12, lr\n" \
    "add r4, r4, lr\n" \
    "ldrsb lr, [r8, lr]\n"

/* Registers and stack:
 *   r0            the sum
 *   r1            the input
 *   r2            where whole pairs of the input end; before: count
 *   r3            the end of the codes; before: from
 *   r4            number of the next bit
 *   r5            k + 1
 *   r6            31 - k
 *   r7            2**k
 *   r8            the multiples
 *   r9            the bit at which the last window may start
 *   r10           2 * (k + 1)
 *   r11           free
 *   r12           bits of codes
 *   lr            free
 *   sp + 0        count
 *   sp + 4        from
 *   sp + 8        r4 … r11, lr of the caller
 * Stack: 44 bytes. */
KIBI_NAKED uint32_t kibi_dot_rice_s8(KIBI_IN_REGISTER uint32_t start, KIBI_IN_REGISTER const int8_t *x,
                                     KIBI_IN_REGISTER int32_t count, KIBI_IN_REGISTER kibi_rice_codes *from)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldr r8, [r3, #4]\n"
        "ldr r4, [r3, #8]\n"
        "ldr r9, [r3, #12]\n"
        "ldr r5, [r3, #16]\n"
        "ldr r3, [r3]\n"
        "movs r7, #1\n"
        "lsl r7, r7, r5\n"
        "rsb r6, r5, #31\n"
        "adds r5, r5, #1\n"
        "lsl r10, r5, #1\n"
        "bics r2, r2, #1\n"
        "beq 2f\n"
        "add r2, r1, r2\n"
        "1:\n" /* the next two elements */
        NEXT_WINDOW
        NEXT_ZEROS
        "lsr r11, r12, r6\n"
        "lsl r12, r12, r5\n"
        "mla lr, lr, r7, r11\n"
        "ldrsb r11, [r1], #1\n"
        "mla r0, lr, r11, r0\n"
        NEXT_ZEROS
        "lsr r12, r12, r6\n"
        "add r4, r4, r10\n"
        "mla lr, lr, r7, r12\n"
        "ldrsb r11, [r1], #1\n"
        "mla r0, lr, r11, r0\n"
        "cmp r1, r2\n"
        "bne 1b\n"
        "2:\n" /* whole pairs are done */
        "ldr r2, [sp]\n"
        "lsls r2, r2, #31\n"
        "beq 3f\n" /* else the odd element */
        NEXT_WINDOW
        NEXT_ZEROS
        "lsr r12, r12, r6\n"
        "add r4, r4, r5\n"
        "mla lr, lr, r7, r12\n"
        "ldrsb r11, [r1]\n"
        "mla r0, lr, r11, r0\n"
        "3:\n" /* the end */
        "ldr r3, [sp, #4]\n"
        "str r4, [r3, #8]\n"
        "pop {r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
