/* Bytes of three arrays as 16 bits each, side by side, Armv7E-M. */
#include "kibi_widen3_s8.h"

#include "kibi_dsp.h"

/* Registers and stack:
 *   r0          to
 *   r1 … r3     the arrays; before: from, count
 *   r4 … r6     even elements
 *   r7 … r9     odd elements
 *   r12         where the first array ends
 *   sp + 0      r4 … r9 of the caller
 * Stack: 24 bytes. */
KIBI_NAKED int16_t *kibi_widen3_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const int8_t *const *from,
                                    KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9}\n"
        "mov r12, r2\n"
        "ldm r1, {r1, r2, r3}\n"
        "add r12, r12, r1\n"
        "1:\n" /* the next four of each */
        "ldr r7, [r1], #4\n"
        "ldr r8, [r2], #4\n"
        "ldr r9, [r3], #4\n"
        "sxtb16 r4, r7\n"
        "sxtb16 r5, r8\n"
        "sxtb16 r6, r9\n"
        /* A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
        "eor r7, r7, #0x007F007F\n"
        "eor r8, r8, #0x007F007F\n"
        "eor r9, r9, #0x007F007F\n"
        "stm r0!, {r4, r5, r6, r7, r8, r9}\n"
        "cmp r1, r12\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9}\n"
        "bx lr\n");
}
