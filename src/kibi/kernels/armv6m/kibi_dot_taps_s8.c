/* Sums of products of int8, Armv6-M. */
#include "kibi_dot_taps_s8.h"

#include "kibi_assembly.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, taps, 0);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, end, 4);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, channel, 8);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, channels, 12);
KIBI_FIELD_AT(kibi_dot_taps_s8_inputs, outside, 16);

/* One channel of a tap: r2 points to the weights, r1 to the inputs; the index may be r3. */
#define CHANNEL(index, sum)         \
    "ldrsb r4, [r1, " index "]\n"   \
    "ldrsb r3, [r2, " index "]\n"   \
    "muls r4, r3, r4\n"             \
    "add " sum ", r4\n"

/* Registers and stack:
 *   r0        the next tap; before: sums
 *   r1        the tap's inputs; before: start
 *   r2        the tap's weights
 *   r3, r4    free; before: x
 *   r5 … r7   1, 2, 3: channels
 *   r8 … r11  the sums
 *   r12       channel
 *   lr        channels
 *   sp + 0    outside
 *   sp + 4    end
 *   sp + 8    sums
 *   sp + 12   x
 *   sp + 16   r8 … r11 of the caller
 *   sp + 32   r4 … r7, lr of the caller
 * Stack: 52 bytes. */
KIBI_NAKED const int8_t *kibi_dot_taps_s8(KIBI_IN_REGISTER int32_t sums[4], KIBI_IN_REGISTER const int32_t start[4],
                                          KIBI_IN_REGISTER const int8_t *w,
                                          KIBI_IN_REGISTER const kibi_dot_taps_s8_inputs *x)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r0, r3, r4, r5, r6, r7}\n"
        "ldm r1!, {r4, r5, r6, r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "ldm r3!, {r0, r4, r5, r6}\n"
        "mov r12, r5\n" /* channel */
        "mov lr, r6\n"  /* channels */
        "ldr r3, [r3]\n"
        "movs r5, #1\n"
        "movs r6, #2\n"
        "movs r7, #3\n"
        "push {r3, r4}\n" /* outside, end */
        "1:\n" /* the next tap */
        "ldm r0!, {r1}\n"
        "cmp r1, #0\n"
        "beq 3f\n"
        "add r1, r12\n"
        "2:\n" /* r1: its four inputs */
        "movs r3, #0\n"
        CHANNEL("r3", "r8")
        CHANNEL("r5", "r9")
        CHANNEL("r6", "r10")
        CHANNEL("r7", "r11")
        "add r2, lr\n"
        "ldr r3, [sp, #4]\n"
        "cmp r0, r3\n"
        "bne 1b\n"
        "add sp, #8\n"
        "pop {r0, r1}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "stm r0!, {r4, r5, r6, r7}\n"
        "pop {r4, r5, r6, r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "movs r0, r2\n"
        "pop {r4, r5, r6, r7, pc}\n"
        "3:\n" /* a tap outside of the input */
        "ldr r1, [sp]\n"
        "b 2b\n");
}
