/* Bytes of two arrays as 16 bits each, side by side, Armv7E-M. */
#include "kibi_widen2_s8.h"

#include "kibi_dsp.h"

/* Four elements of each. A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
#define FOUR                         \
    "ldr r6, [r1], #4\n"             \
    "ldr r7, [r2], #4\n"             \
    "sxtb16 r4, r6\n"                \
    "sxtb16 r5, r7\n"                \
    "eor r6, r6, #0x007F007F\n"      \
    "eor r7, r7, #0x007F007F\n"      \
    "stm r0!, {r4, r5, r6, r7}\n"

/* Registers and stack:
 *   r0      to
 *   r1, r2  the arrays; before: from, count
 *   r3      where the first array ends
 *   r4, r5  even elements
 *   r6, r7  odd elements
 *   sp + 0  r4 … r7 of the caller
 * Stack: 16 bytes. */
KIBI_NAKED int16_t *kibi_widen2_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const int8_t *const *from,
                                    KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7}\n"
        "lsls r3, r2, #29\n" /* the highest bit: an odd number of fours */
        "mov r3, r2\n"
        "ldm r1, {r1, r2}\n"
        "add r3, r3, r1\n"
        /* Two fours of each an iteration; an odd four enters at the second. */
        "bmi 2f\n"
        "1:\n" /* the next eight */
        FOUR
        "2:\n" /* the second four */
        FOUR
        "cmp r1, r3\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7}\n"
        "bx lr\n");
}
