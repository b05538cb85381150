/* Sums of products of int8, Armv7-M. */
#include "kibi_dot_taps_s8.h"

#include "kibi_assembly.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, taps, 0);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, end, 4);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, channel, 8);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, channels, 12);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, outside, 16);

/* One channel of a tap: r2 points to the weights, r4 to the inputs. */
#define CHANNEL(number, sum)             \
    "ldrsb.w r6, [r2, #" number "]\n"    \
    "ldrsb.w r7, [r4, #" number "]\n"    \
    "mla " sum ", r6, r7, " sum "\n"

/* Registers and stack:
 *   r0        the next tap; before: sums
 *   r1        end; before: start
 *   r2        the tap's weights
 *   r3        channel; before: x
 *   r4        the tap's inputs
 *   r5        channels
 *   r6, r7    free
 *   r8 … r11  the sums
 *   r12       outside
 *   sp + 0    sums
 *   sp + 4    r4 … r11, lr of the caller
 * Stack: 40 bytes. */
KIBI_NAKED const int8_t *kibi_dot_taps_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t start[4],
                                          KIBI_IN_REGISTER const int8_t *w,
                                          KIBI_IN_REGISTER const kibi_dot_taps_s8_inputs *x)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r1, {r8, r9, r10, r11}\n"
        "ldm r3, {r0, r1, r3, r5, r12}\n" /* taps, end, channel, channels, outside */
        "1:\n" /* the next tap */
        "ldr r4, [r0], #4\n"
        "cbz r4, 3f\n"
        "add r4, r4, r3\n"
        "2:\n" /* r4: its four inputs */
        CHANNEL("0", "r8")
        CHANNEL("1", "r9")
        CHANNEL("2", "r10")
        CHANNEL("3", "r11")
        "add r2, r2, r5\n"
        "cmp r0, r1\n"
        "bne 1b\n"
        "pop {r3}\n"
        "stm r3, {r8, r9, r10, r11}\n"
        "mov r0, r2\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "3:\n" /* a tap outside of the input */
        "mov r4, r12\n"
        "b 2b\n");
}
