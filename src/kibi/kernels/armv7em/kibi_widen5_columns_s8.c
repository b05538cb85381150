/* Bytes of five columns as 16 bits each, side by side, Armv7E-M. */
#include "kibi_widen5_columns_s8.h"

#include "kibi_dsp.h"

/* Registers and stack:
 *   r0               to
 *   r1, r2, r4 … r6  the columns; before: from, distance
 *   r3               where the first column ends; before: count
 *   r7, r9, r11      even elements
 *   r8, r10, r12     odd elements
 *   sp + 0           r4 … r11, lr of the caller
 * Stack: 36 bytes. */
KIBI_NAKED int16_t *kibi_widen5_columns_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const void *from,
                                           KIBI_IN_REGISTER int32_t distance, KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "add r4, r1, r2, lsl #1\n"
        "add r5, r4, r2\n"
        "add r6, r5, r2\n"
        "cmp r2, #0\n"
        "add r2, r1, r2\n"
        "bne 2f\n"
        /* No distance: `from` is an array of pointers. */
        "ldm r1, {r1, r2, r4, r5, r6}\n"
        "2:\n" /* the columns are known */
        "add r3, r3, r1\n"
        "1:\n" /* the next four of each */
        "ldr r8, [r1], #4\n"
        "ldr r10, [r2], #4\n"
        "ldr r12, [r4], #4\n"
        "sxtb16 r7, r8\n"
        /* A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
        "eor r8, r8, #0x007F007F\n"
        "sxtb16 r9, r10\n"
        "eor r10, r10, #0x007F007F\n"
        "sxtb16 r11, r12\n"
        "eor r12, r12, #0x007F007F\n"
        "stm r0!, {r7, r8, r9, r10, r11, r12}\n"
        "ldr r8, [r5], #4\n"
        "ldr r10, [r6], #4\n"
        "sxtb16 r7, r8\n"
        "eor r8, r8, #0x007F007F\n"
        "sxtb16 r9, r10\n"
        "eor r10, r10, #0x007F007F\n"
        "stm r0!, {r7, r8, r9, r10}\n"
        "cmp r1, r3\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
