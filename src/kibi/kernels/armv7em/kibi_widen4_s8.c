/* Bytes of four arrays as 16 bits each, side by side, Armv7E-M. */
#include "kibi_widen4_s8.h"

#include "kibi_dsp.h"

/* Registers and stack:
 *   r0            to
 *   r1 … r3, r12  the arrays; before: from, count
 *   r4 … r7       even elements
 *   r8 … r11      odd elements
 *   lr            where the first array ends
 *   sp + 0        r4 … r11, lr of the caller
 * Stack: 36 bytes. */
KIBI_NAKED int16_t *kibi_widen4_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const int8_t *const *from,
                                    KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "mov lr, r2\n"
        "ldm r1, {r1, r2, r3, r12}\n"
        "add lr, lr, r1\n"
        "1:\n" /* the next four of each */
        "ldr r8, [r1], #4\n"
        "ldr r9, [r2], #4\n"
        "ldr r10, [r3], #4\n"
        "ldr r11, [r12], #4\n"
        "sxtb16 r4, r8\n"
        "sxtb16 r5, r9\n"
        "sxtb16 r6, r10\n"
        "sxtb16 r7, r11\n"
        /* A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
        "eor r8, r8, #0x007F007F\n"
        "eor r9, r9, #0x007F007F\n"
        "eor r10, r10, #0x007F007F\n"
        "eor r11, r11, #0x007F007F\n"
        "stm r0!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "cmp r1, lr\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
