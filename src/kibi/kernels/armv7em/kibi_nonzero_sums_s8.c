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
    "ldrb.n r2, [r1, #" element "]\n"      \
    "ldr.n r3, [r0, #" weights "]\n"       \
    "ldr.w lr, [r0, #" second "]\n"        \
    PRODUCTS

/* An element of the list: 38 bytes of code. The carry is set after the last one. The pair is loaded last, so that an update of its
 * base takes no cycle. */
#define LISTED(pair)             \
    "ldr.n r3, [r0]\n"           \
    "ldr.w lr, [r0, #4]\n"       \
    "ldrh" pair "\n"             \
    "uxtab r0, r0, r2\n"         \
    "lsrs.n r2, r2, #8\n"        \
    PRODUCTS

/* Ends the build where the code after a label has another size: loops are entered between elements, at addresses that are computed.
 * Assemblers know the difference only where each instruction's width is given, or is always the same. */
#define SIZE(label, bytes)                        \
    ".if . - " label " - (" bytes ")\n"           \
    ".error \"an element has another size\"\n"    \
    ".endif\n"

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
#define SCALE_FOUR(first, second, third, fourth)     \
    "lsls r3, r3, #1\n"                              \
    "lsls r2, r2, #1\n"                              \
    SHIFTED("r3") SHIFTED("r6") SHIFTED("r2") SHIFTED("r5") \
    "strb r3, [r1, #" first "]\n"                    \
    "strb r6, [r1, #" second "]\n"                   \
    "strb r2, [r1, #" third "]\n"                    \
    "strb r5, [r1, #" fourth "]\n"                   

/* Four channels: the lowest 24 bits of a sum are one, with its sign; of what is left, twice another one is made. In r3 and r2, and
 * twice in r6 and r5. */
#define SEPARATE(low, high, second_low, second_high)                      \
    "sbfx r2, " second_low ", #0, #24\n"                                  \
    "subs " second_low ", " second_low ", r2\n"                           \
    "sbc " second_high ", " second_high ", r2, asr #31\n"                 \
    "lsrs " second_low ", " second_low ", #23\n"                          \
    "orr r6, " second_low ", " second_high ", lsl #9\n"                   \
    "subs " low ", " low ", r6, lsl #7\n"                                 \
    "sbc " high ", " high ", r6, asr #25\n"                               \
    "subs " low ", " low ", r2, lsl #16\n"                                \
    "sbc " high ", " high ", r2, asr #16\n"                               \
    "sbfx r3, " low ", #0, #24\n"                                         \
    "subs " low ", " low ", r3\n"                                         \
    "sbc " high ", " high ", r3, asr #31\n"                               \
    "lsrs " low ", " low ", #23\n"                                        \
    "orr r5, " low ", " high ", lsl #9\n"

/* Registers and stack:
 *   r0            weights of the element; while outputs are made: scales
 *   r1            the next element, or the pair before the next one; while outputs are made: output
 *   r2            the element; else a sum
 *   r3, lr        weights; else a sum, and layer, 1 more while the last four channels are made
 *   r4, r5        the first sum of four channels, r6, r7 the second one
 *   r8 ... r11    the same of the next four channels
 *   r12           0xFF0000FF; while outputs are made: rounding
 *   sp + 0        scale_step
 *   sp + 4        lr, while channels with scales of their own are made
 *   sp + 8        layer
 *   sp + 12       where the elements end
 *   sp + 16       bytes from a block's first weights to where r0 starts
 *   sp + 20       where a block's code is entered
 *   sp + 24       two words of scales, where all channels share them: the first one has its highest bit set
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
        "ldrd r4, r5, [r1]\n"
        "orr r4, r4, #0x80000000\n" /* shifts do not look at it */
        "add r1, sp, #24\n"
        "strd r4, r5, [r1]\n"
        "str r1, [lr, #8]\n"
        "4:\n"
        /* Each loop is entered so that its last iteration ends with the last element. */
        "ldr r1, [lr, #4]\n"      /* elements */
        "ldrd r2, r3, [lr, #36]\n" /* count, has_gaps */
        "rsb r4, r2, #0\n"
        "cbz r3, 6f\n"
        "and r4, r4, #7\n"
        "ldrb r5, [r1]\n"
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
        "ldr r0, [lr]\n" /* filter */
        ".balign 4\n" /* a branch to a wide instruction across words would take a cycle more */
        "5:\n" /* the next block */
        "ldr r1, [lr, #4]\n"  /* elements */
        "ldr r2, [lr, #32]\n" /* more */
        "ldr r12, [sp, #16]\n"
        "ldm r0!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "add r0, r0, r12\n"
        "mov r3, #0x01010101\n"
        "smlal r4, r5, r2, r3\n"
        "smlal r8, r9, r2, r3\n"
        "bfc r3, #8, #16\n"
        "smlal r6, r7, r2, r3\n"
        "smlal r10, r11, r2, r3\n"
        "movw r12, #0x00FF\n"
        "movt r12, #0xFF00\n"
        "ldr pc, [sp, #20]\n"
        ".balign 4\n"
        "8:\n" /* eight elements an iteration */
        ELEMENT("0", "0", "4") ELEMENT("1", "8", "12") ELEMENT("2", "16", "20") ELEMENT("3", "24", "28"));
    __asm__ volatile(
        ELEMENT("4", "32", "36") ELEMENT("5", "40", "44") ELEMENT("6", "48", "52") ELEMENT("7", "56", "60")
        SIZE("8b", "8 * 32")
        "ldr r2, [sp, #12]\n"
        "adds r0, r0, #64\n"
        "adds r1, r1, #8\n"
        "cmp r1, r2\n"
        "bne 8b\n"
        "b 2f\n"
        ".balign 4\n"
        "1:\n" /* eight listed elements an iteration */
        LISTED(".n r2, [r1, #2]") LISTED(".n r2, [r1, #4]") LISTED(".n r2, [r1, #6]") LISTED(".n r2, [r1, #8]")
        LISTED(".n r2, [r1, #10]") LISTED(".n r2, [r1, #12]") LISTED(".n r2, [r1, #14]")
        LISTED(".w r2, [r1, #16]!") /* 2 bytes longer */
        SIZE("1b", "8 * 38 + 2")
        "bcc 1b\n");
    __asm__ volatile(
        "2:\n" /* the sums are complete */
        "ldr lr, [sp, #8]\n"
        "ldr r0, [lr, #8]\n"   /* scales */
        "ldr r1, [lr, #12]\n"  /* output */
        "ldr r12, [lr, #28]\n" /* rounding */
        "3:\n" /* four channels */
        SEPARATE("r4", "r5", "r6", "r7")
        "ldr r4, [r0]\n"
        "ldr r7, [r0, #4]\n"
        "cmp r4, #0\n"
        "bpl.w 9f\n"
        SCALE_FOUR("0", "1", "2", "3"));
    __asm__ volatile(
        SEPARATE("r8", "r9", "r10", "r11")
        SCALE_FOUR("4", "5", "6", "7")
        "adds r1, r1, #8\n"
        "11:\n" /* eight channels are stored */
        "strd r0, r1, [lr, #8]\n"
        "ldr r0, [lr]\n"
        "ldr r2, [lr, #16]\n" /* block_bytes */
        "ldr r3, [lr, #20]\n" /* blocks */
        "add r0, r0, r2\n"
        "str r0, [lr]\n"
        "subs r3, r3, #1\n"
        "str r3, [lr, #20]\n"
        "bne 5b\n"
        "add sp, sp, #36\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "9:\n" /* channels have scales of their own: four, and the last four through the code above */
        "str lr, [sp, #4]\n"
        SCALE("r3", "r6")
        SCALE("r2", "r5")
        "ldr lr, [sp, #4]\n"
        "lsls r2, lr, #31\n"
        "it ne\n"
        "subne lr, lr, #1\n"
        "bne 11b\n"
        "add lr, lr, #1\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "b 3b\n");
}
