/* Bytes of six columns as 16 bits each, Armv7E-M. */
#include "kibi_widen6_columns_s8.h"

#include "kibi_dsp.h"

/* Registers and stack:
 *   r0                   to
 *   r1, r2, r4 … r7      the columns; before: from, distance
 *   r3                   where the first column ends; before: count
 *   r8 … r12, lr         elements, first the even ones, then the odd ones
 *   sp + 0               r4 … r11, lr of the caller
 * Stack: 36 bytes. */
KIBI_NAKED int16_t *kibi_widen6_columns_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const void *from,
                                           KIBI_IN_REGISTER int32_t distance, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "add r4, r1, r2, lsl #1\n"
        "add r5, r4, r2\n"
        "add r6, r5, r2\n"
        "add r7, r6, r2\n"
        "cmp r2, #0\n"
        "add r2, r1, r2\n"
        "bne 2f\n"
        /* No distance: `from` is an array of pointers. */
        "ldm r1, {r1, r2, r4, r5, r6, r7}\n"
        "2:\n" /* the columns are known */
        "add r3, r3, r1\n"
        "1:\n" /* the next four of each */
        "ldr r8, [r1]\n"
        "ldr r9, [r2]\n"
        "ldr r10, [r4]\n"
        "ldr r11, [r5]\n"
        "ldr r12, [r6]\n"
        "ldr lr, [r7]\n"
        "sxtb16 r8, r8\n"
        "sxtb16 r9, r9\n"
        "sxtb16 r10, r10\n"
        "sxtb16 r11, r11\n"
        "sxtb16 r12, r12\n"
        "sxtb16 lr, lr\n"
        "stm r0!, {r8, r9, r10, r11, r12, lr}\n"
        "ldr r8, [r1], #4\n"
        "ldr r9, [r2], #4\n"
        "ldr r10, [r4], #4\n"
        "ldr r11, [r5], #4\n"
        "ldr r12, [r6], #4\n"
        "ldr lr, [r7], #4\n"
        /* A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
        "eor r8, r8, #0x007F007F\n"
        "eor r9, r9, #0x007F007F\n"
        "eor r10, r10, #0x007F007F\n"
        "eor r11, r11, #0x007F007F\n"
        "eor r12, r12, #0x007F007F\n"
        "eor lr, lr, #0x007F007F\n"
        "stm r0!, {r8, r9, r10, r11, r12, lr}\n"
        "cmp r1, r3\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
