/* Eight output channels at once, of the elements of a vector that are not zero, Armv7E-M. */
#include "kibi_nonzero_sums_s8.h"

#include "kibi_dsp.h"

KIBI_FIELD_AT(kibi_nonzero_sums, filter, 0);
KIBI_FIELD_AT(kibi_nonzero_sums, steps, 4);
KIBI_FIELD_AT(kibi_nonzero_sums, scales, 8);
KIBI_FIELD_AT(kibi_nonzero_sums, output, 12);
KIBI_FIELD_AT(kibi_nonzero_sums, block_bytes, 16);
KIBI_FIELD_AT(kibi_nonzero_sums, blocks, 20);
KIBI_FIELD_AT(kibi_nonzero_sums, scale_step, 24);
KIBI_FIELD_AT(kibi_nonzero_sums, rounding, 28);
KIBI_FIELD_AT(kibi_nonzero_sums, first_less, 32);
KIBI_FIELD_AT(kibi_nonzero_sums, second_less, 40);

/* The next element: its weights for eight channels are two words, from which bytes 2 and 1 are moved to both ends. */
#define ELEMENT                       \
    "ldrb r3, [r1, #1]\n"             \
    "ldrb r2, [r1, #2]!\n"            \
    "add r0, r0, r3, lsl #3\n"        \
    "cbz r3, 2f\n"                    \
    "ldrd r3, lr, [r0]\n"             \
    "umlal r4, r5, r3, r2\n"          \
    "and r3, r12, r3, ror #16\n"      \
    "umlal r6, r7, r3, r2\n"          \
    "umlal r8, r9, lr, r2\n"          \
    "and lr, r12, lr, ror #16\n"      \
    "umlal r10, r11, lr, r2\n"

/* A sum, and twice another one, become outputs: to the right, rounded half away from zero, as kibi_requantize_s8. A shift by a
 * register looks at its lowest byte alone: both exponents are in r4. */
#define SCALE(first, second)                         \
    "ldm r0, {r4, r7, lr}\n"                         \
    "lsl " first ", " first ", #1\n"                 \
    "smmulr " first ", " first ", r7\n"              \
    "smmulr " second ", " second ", lr\n"            \
    "add " first ", " first ", " first ", asr #31\n" \
    "add " second ", " second ", " second ", asr #31\n" \
    "asr " first ", " first ", r4\n"                 \
    "lsrs r4, r4, #8\n"                              \
    "asr " second ", " second ", r4\n"               \
    "ldr r4, [sp]\n"                                 \
    "qadd " first ", " first ", r12\n"               \
    "qadd " second ", " second ", r12\n"             \
    "ssat " first ", #8, " first ", asr #1\n"        \
    "ssat " second ", #8, " second ", asr #1\n"      \
    "add r0, r0, r4\n"                               \
    "strb " first ", [r1], #1\n"                     \
    "strb " second ", [r1], #1\n"

/* Registers and stack:
 *   r0            weights of the element before the next one; while outputs are made: scales
 *   r1            one byte before the next step; while outputs are made: output
 *   r2            the element; else a sum
 *   r3, lr        weights; else a sum, and free
 *   r4, r5        the first sum of four channels, r6, r7 the second one
 *   r8 … r11      the same of the next four channels
 *   r12           0xFF0000FF; while outputs are made: rounding
 *   sp + 0        scale_step
 *   sp + 4        1 while four more channels follow
 *   sp + 8        layer
 *   sp + 12       r4 … r11, lr of the caller
 * Stack: 48 bytes. */
KIBI_NAKED void kibi_nonzero_sums_s8(KIBI_IN_REGISTER kibi_nonzero_sums *layer)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #12\n"
        "str r0, [sp, #8]\n"
        "mov lr, r0\n"
        "ldr r2, [lr, #24]\n" /* scale_step */
        "str r2, [sp]\n"
        "5:\n" /* the next block */
        "ldrd r0, r1, [lr]\n" /* filter, steps */
        "ldm r0!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "ldrd r2, r3, [lr, #32]\n" /* first_less */
        "subs r4, r4, r2\n"
        "sbc r5, r5, r3\n"
        "subs r8, r8, r2\n"
        "sbc r9, r9, r3\n"
        "ldrd r2, r3, [lr, #40]\n" /* second_less */
        "subs r6, r6, r2\n"
        "sbc r7, r7, r3\n"
        "subs r10, r10, r2\n"
        "sbc r11, r11, r3\n"
        "movw r12, #0x00FF\n"
        "movt r12, #0xFF00\n"
        "subs r0, r0, #8\n"
        "subs r1, r1, #1\n"
        "1:\n" /* three elements an iteration: a branch on zero reaches no further */
        ELEMENT
        ELEMENT
        ELEMENT
        "b 1b\n"
        "2:\n" /* the sums are complete */
        "ldr lr, [sp, #8]\n"
        "ldrd r0, r1, [lr, #8]\n" /* scales, output */
        "ldr r12, [lr, #28]\n"    /* rounding */
        "movs r2, #1\n"
        "3:\n" /* four channels: the lowest 24 bits of a sum are one, with its sign; of what is left, twice another one is made */
        "str r2, [sp, #4]\n"
        "sbfx r2, r6, #0, #24\n"
        "subs r6, r6, r2\n"
        "sbc r7, r7, r2, asr #31\n"
        "lsrs r6, r6, #23\n"
        "orr r6, r6, r7, lsl #9\n"
        "subs r4, r4, r6, lsl #7\n"
        "sbc r5, r5, r6, asr #25\n"
        "subs r4, r4, r2, lsl #16\n"
        "sbc r5, r5, r2, asr #16\n"
        "sbfx r3, r4, #0, #24\n"
        "subs r4, r4, r3\n"
        "sbc r5, r5, r3, asr #31\n"
        "lsrs r4, r4, #23\n"
        "orr r5, r4, r5, lsl #9\n"
        SCALE("r3", "r6")
        SCALE("r2", "r5"));
    __asm__ volatile(
        "ldr r2, [sp, #4]\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "subs r2, r2, #1\n"
        "beq 3b\n"
        "ldr lr, [sp, #8]\n"
        "strd r0, r1, [lr, #8]\n"
        "ldr r0, [lr]\n"
        "ldrd r2, r3, [lr, #16]\n" /* block_bytes, blocks */
        "add r0, r0, r2\n"
        "str r0, [lr]\n"
        "subs r3, r3, #1\n"
        "str r3, [lr, #20]\n"
        "bne 5b\n"
        "add sp, sp, #12\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
