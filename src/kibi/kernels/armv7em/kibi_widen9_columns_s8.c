/* Bytes of three of nine columns as 16 bits each, Armv7E-M. */
#include "kibi_widen9_columns_s8.h"

#include "kibi_dsp.h"

/* Registers and stack:
 *   r0                   where the next elements go; before: to
 *   r1, r3, r4           the columns; r1 before: columns
 *   r2                   where the first column ends; before: count
 *   r5 … r7              elements, then what is taken for the odd ones
 *   r8 … r10             the even elements
 *   sp + 0               r4 … r10, lr of the caller
 * Stack: 32 bytes. */
KIBI_NAKED int16_t *kibi_widen9_columns_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const int8_t *const *columns,
                                           KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, lr}\n"
        "ldm r1, {r1, r3, r4}\n"
        "add r2, r2, r1\n"
        "1:\n" /* the next four of each */
        "ldr r5, [r1], #4\n"
        "ldr r6, [r3], #4\n"
        "ldr r7, [r4], #4\n"
        "sxtb16 r8, r5\n"
        "sxtb16 r9, r6\n"
        "sxtb16 r10, r7\n"
        "stm r0, {r8, r9, r10}\n"
        "add r0, r0, #36\n"
        /* A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
        "eor r5, r5, #0x007F007F\n"
        "eor r6, r6, #0x007F007F\n"
        "eor r7, r7, #0x007F007F\n"
        "stm r0, {r5, r6, r7}\n"
        "add r0, r0, #36\n"
        "cmp r1, r2\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, pc}\n");
}
