/* Eight output channels at once, of all elements of a vector or of those that are not zero, Armv7E-M. */
#include "kibi_nonzero_sums_s8.h"

#include "kibi_dsp.h"

KIBI_FIELD_AT(kibi_nonzero_sums, filter, 0);
KIBI_FIELD_AT(kibi_nonzero_sums, elements, 4);
KIBI_FIELD_AT(kibi_nonzero_sums, scales, 8);
KIBI_FIELD_AT(kibi_nonzero_sums, output, 12);
KIBI_FIELD_AT(kibi_nonzero_sums, block_bytes, 16);
KIBI_FIELD_AT(kibi_nonzero_sums, blocks, 20);
KIBI_FIELD_AT(kibi_nonzero_sums, scale_step, 24);
KIBI_FIELD_AT(kibi_nonzero_sums, rounding, 28);
KIBI_FIELD_AT(kibi_nonzero_sums, more, 32);
KIBI_FIELD_AT(kibi_nonzero_sums, count, 36);
KIBI_FIELD_AT(kibi_nonzero_sums, has_gaps, 40);

/* Adds the products of the element in r2: its weights for eight channels are r3 and lr, from which bytes 2 and 1 are moved to both
 * ends. */
#define PRODUCTS                      \
    "umlal r4, r5, r3, r2\n"          \
    "and r3, r12, r3, ror #16\n"      \
    "umlal r6, r7, r3, r2\n"          \
    "umlal r8, r9, lr, r2\n"          \
    "and lr, r12, lr, ror #16\n"      \
    "umlal r10, r11, lr, r2\n"

/* An element without gaps: 32 bytes of code. Three loads from two bases, so that each after the first takes one cycle. */
#define ELEMENT(element, weights, second)  \
    "ldrb r2, [r1, #" element "]\n"        \
    "ldr r3, [r0, #" weights "]\n"         \
    "ldr.w lr, [r0, #" second "]\n"        \
    PRODUCTS

/* An element of the list: 38 bytes of code. The carry is set after the last one. */
#define LISTED(pair)             \
    "ldrh r2, [r1, #" pair "]\n" \
    "ldr r3, [r0]\n"             \
    "ldr.w lr, [r0, #4]\n"       \
    "uxtab r0, r0, r2\n"         \
    "lsrs r2, r2, #8\n"          \
    PRODUCTS

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

/* The same of four channels with one scale, whose exponent is in r4 and whose multiplier in r7. */
#define SHIFTED(sum)                                 \
    "smmulr " sum ", " sum ", r7\n"                  \
    "add " sum ", " sum ", " sum ", asr #31\n"       \
    "asrs " sum ", " sum ", r4\n"                    \
    "qadd " sum ", " sum ", r12\n"                   \
    "ssat " sum ", #8, " sum ", asr #1\n"
#define SCALE_FOUR                                   \
    "lsls r3, r3, #1\n"                              \
    "lsls r2, r2, #1\n"                              \
    SHIFTED("r3") SHIFTED("r6") SHIFTED("r2") SHIFTED("r5") \
    "strb r3, [r1, #0]\n"                            \
    "strb r6, [r1, #1]\n"                            \
    "strb r2, [r1, #2]\n"                            \
    "strb r5, [r1, #3]\n"                            \
    "adds r1, r1, #4\n"

/* Registers and stack:
 *   r0            weights of the element; while outputs are made: scales
 *   r1            the next element; while outputs are made: output
 *   r2            the element; else a sum
 *   r3, lr        weights; else a sum, and free
 *   r4, r5        the first sum of four channels, r6, r7 the second one
 *   r8 ... r11    the same of the next four channels
 *   r12           0xFF0000FF; while outputs are made: rounding
 *   sp + 0        scale_step
 *   sp + 4        1 while four more channels follow
 *   sp + 8        layer
 *   sp + 12       where the elements end
 *   sp + 16       bytes from a block's first weights to where r0 starts
 *   sp + 20       where a block's code is entered
 *   sp + 24       three words of scales, where all channels share them
 *   sp + 36       r4 ... r11, lr of the caller
 * Stack: 72 bytes. */
KIBI_NAKED __attribute__((aligned(4))) void kibi_nonzero_sums_s8(KIBI_IN_REGISTER kibi_nonzero_sums *layer)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #36\n"
        "str r0, [sp, #8]\n"
        "mov lr, r0\n"
        "ldr r2, [lr, #24]\n" /* scale_step */
        "str r2, [sp]\n"
        "cbnz r2, 4f\n"
        /* A copy of scales that all channels share is not read from flash again. */
        "ldr r1, [lr, #8]\n" /* scales */
        "ldm r1, {r4, r5, r6}\n"
        "add r1, sp, #24\n"
        "stm r1, {r4, r5, r6}\n"
        "str r1, [lr, #8]\n"
        "4:\n"
        /* Each loop is entered so that its last iteration ends with the last element. */
        "ldr r1, [lr, #4]\n"      /* elements */
        "ldrd r2, r3, [lr, #36]\n" /* count, has_gaps */
        "rsb r4, r2, #0\n"
        "cbz r3, 6f\n"
        "and r4, r4, #7\n"
        "ldrb r5, [r1], #2\n"
        "subs r5, r5, #8\n"
        "sub r1, r1, r4, lsl #1\n"
        "movs r3, #38\n"
        "adr r6, 1f\n"
        "b 7f\n"
        "6:\n"
        "and r4, r4, #7\n"
        "adds r2, r1, r2\n"
        "subs r1, r1, r4\n"
        "lsls r5, r4, #3\n"
        "rsbs r5, r5, #0\n"
        "movs r3, #32\n"
        "adr.w r6, 8f\n"
        "7:\n"
        "mla r6, r4, r3, r6\n"
        "orr r6, r6, #1\n"
        "strd r2, r5, [sp, #12]\n"
        "str r6, [sp, #20]\n"
        "str r1, [lr, #4]\n"
        "5:\n" /* the next block */
        "ldrd r0, r1, [lr]\n" /* filter, elements */
        "ldm r0!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "ldr r2, [lr, #32]\n" /* more */
        "mov r3, #0x01010101\n"
        "smlal r4, r5, r2, r3\n"
        "smlal r8, r9, r2, r3\n"
        "bfc r3, #8, #16\n"
        "smlal r6, r7, r2, r3\n"
        "smlal r10, r11, r2, r3\n"
        "ldr r2, [sp, #16]\n"
        "movw r12, #0x00FF\n"
        "movt r12, #0xFF00\n"
        "add r0, r0, r2\n"
        "ldr pc, [sp, #20]\n"
        ".balign 4\n"
        "8:\n" /* eight elements an iteration */
        ELEMENT("0", "0", "4") ELEMENT("1", "8", "12") ELEMENT("2", "16", "20") ELEMENT("3", "24", "28"));
    __asm__ volatile(
        ELEMENT("4", "32", "36") ELEMENT("5", "40", "44") ELEMENT("6", "48", "52") ELEMENT("7", "56", "60")
        "ldr r2, [sp, #12]\n"
        "adds r0, r0, #64\n"
        "adds r1, r1, #8\n"
        "cmp r1, r2\n"
        "bne 8b\n"
        "b 2f\n"
        ".balign 4\n"
        "1:\n" /* eight listed elements an iteration */
        LISTED("0") LISTED("2") LISTED("4") LISTED("6")
        LISTED("8") LISTED("10") LISTED("12") LISTED("14")
        "add.w r1, r1, #16\n" /* keeps the carry */
        "bcc 1b\n");
    __asm__ volatile(
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
        "ldr r4, [sp]\n"
        "cmp r4, #0\n"
        "bne.w 9f\n"
        "ldrd r4, r7, [r0]\n"
        SCALE_FOUR);
    __asm__ volatile(
        "10:\n" /* four channels are stored */
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
        "add sp, sp, #36\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "9:\n" /* channels have scales of their own */
        SCALE("r3", "r6")
        SCALE("r2", "r5")
        "b 10b\n");
}
