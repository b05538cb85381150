/* SVDF of int8 from packed weights, Armv7E-M: the same instructions from every compiler. Source of the rule: TFLM,
 * micro/kernels/svdf_common.cc. */
#include "kibi_dsp.h"
#include "kibi_svdf.h"

/* What all blocks of four units share. */
typedef struct {
    const int8_t *x;
    int32_t weights_bytes; /* of four filters over the input: 16 for each four elements; the last one may have one to three */
    int32_t rest;          /* elements after whole fours */
    int32_t entry;         /* where the loop over them begins; the assembly writes it */
    const int32_t *weights;
    int8_t *state;
    int8_t *output;
    const int8_t *output_end;
    const int32_t *scales;
    int32_t state_zero_point;
    int32_t first_bytes; /* kept by a filter before the last eight */
} svdf_blocks;

/* Where the assembly reads them. */
KIBI_FIELD_AT(svdf_blocks, weights_bytes, 4);
KIBI_FIELD_AT(svdf_blocks, rest, 8);
KIBI_FIELD_AT(svdf_blocks, entry, 12);
KIBI_FIELD_AT(svdf_blocks, weights, 16);
KIBI_FIELD_AT(svdf_blocks, state, 20);
KIBI_FIELD_AT(svdf_blocks, output, 24);
KIBI_FIELD_AT(svdf_blocks, output_end, 28);
KIBI_FIELD_AT(svdf_blocks, scales, 32);
KIBI_FIELD_AT(svdf_blocks, state_zero_point, 36);
KIBI_FIELD_AT(svdf_blocks, first_bytes, 40);

/* Macros of the assembler, because ISO C limits how long a text may be; the function's last lines forget them.
 *
 * Four elements in r2, and their weights for four filters. 76 bytes of instructions. */
#define FOUR                                \
    ".macro kibi_one_filter sum, weights\n" \
    "sxtb16 r12, \\weights\n"               \
    "sxtb16 \\weights, \\weights, ror #8\n" \
    "smlad \\sum, r12, r3, \\sum\n"         \
    "smlad \\sum, \\weights, r2, \\sum\n"   \
    ".endm\n"                               \
    ".macro kibi_four\n"                    \
    "ldm.w r0!, {r8, r9, r10, r11}\n"       \
    "sxtb16 r3, r2\n"                       \
    "sxtb16 r2, r2, ror #8\n"               \
    "kibi_one_filter r4, r8\n"              \
    "kibi_one_filter r5, r9\n"              \
    "kibi_one_filter r6, r10\n"             \
    "kibi_one_filter r7, r11\n"             \
    ".endm\n"

/* A sum, scaled to the right (rule N4) and cut to int8: r8 is the doubled multiplier, r9 ~shift, and r10 twice what is added, plus 1. */
#define SCALE                               \
    ".macro kibi_scale sum\n"               \
    "and r2, \\sum, r8, asr #31\n"          \
    "smmlar \\sum, \\sum, r8, r2\n"         \
    "add \\sum, \\sum, \\sum, asr #31\n"    \
    "asr \\sum, \\sum, r9\n"                \
    "qadd \\sum, \\sum, r10\n"              \
    "ssat \\sum, #8, \\sum, asr #1\n"       \
    ".endm\n"

/* A filter's newest result becomes the sum of what it keeps. The first of that moves by one in a loop at the label `first`, which goes
 * on after the load that it makes in place of this one. */
#define KEEP                                \
    ".macro kibi_keep newest, first, next\n" \
    "cmp r3, #0\n"                          \
    "bne \\first\n"                         \
    "ldm r0!, {r10, r11, lr}\n"             \
    "\\next:\n"                             \
    "ldr r8, [r1, #1]\n"                    \
    "ldr r9, [r1, #4]\n"                    \
    "str r8, [r1], #4\n"                    \
    "lsr r9, r9, #8\n"                      \
    "orr r9, r9, \\newest, lsl #24\n"       \
    "str r9, [r1], #4\n"                    \
    "sxtb16 \\newest, r8\n"                 \
    "sxtb16 r8, r8, ror #8\n"               \
    "sxtb16 r2, r11\n"                      \
    "sxtb16 r11, r11, ror #8\n"             \
    "smlad r10, r2, \\newest, r10\n"        \
    "smlad r10, r11, r8, r10\n"             \
    "sxtb16 \\newest, r9\n"                 \
    "sxtb16 r9, r9, ror #8\n"               \
    "sxtb16 r2, lr\n"                       \
    "sxtb16 lr, lr, ror #8\n"               \
    "smlad r10, r2, \\newest, r10\n"        \
    "smlad \\newest, lr, r9, r10\n"         \
    ".endm\n"

/* The loop over all but the last eight. */
#define FIRST                               \
    ".macro kibi_first next, again\n"       \
    "movs r2, #0\n"                         \
    "add lr, r1, r3\n"                      \
    "\\again:\n"                            \
    "ldr r8, [r1, #1]\n"                    \
    "ldr r11, [r0], #4\n"                   \
    "str r8, [r1], #4\n"                    \
    "sxtb16 r9, r8\n"                       \
    "sxtb16 r8, r8, ror #8\n"               \
    "sxtb16 r10, r11\n"                     \
    "sxtb16 r11, r11, ror #8\n"             \
    "smlad r2, r10, r9, r2\n"               \
    "smlad r2, r11, r8, r2\n"               \
    "cmp r1, lr\n"                          \
    "bne \\again\\()b\n"                        \
    "ldm r0!, {r10, r11, lr}\n"             \
    "add r10, r10, r2\n"                    \
    "b \\next\n"                            \
    ".endm\n"

/* Registers and stack:
 *   r0         the weights; before: blocks
 *   r1         the input, then the state
 *   r2, r3     elements as factors; then free, and first_bytes
 *   r4 … r7    the sums of four filters, their results, then the sums of what they keep
 *   r8 … r11   weights; constants of a scale; what is kept, a sum, weights
 *   r12        blocks; while filters are multiplied, free
 *   lr         where weights end; weights; scales
 *   sp + 0     blocks
 *   sp + 4     r4 … r11, lr of the caller
 * Stack: 40 bytes. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void all_units(KIBI_IN_REGISTER svdf_blocks *blocks)
{
    __asm__ volatile(
        ".syntax unified\n" FOUR SCALE);
    __asm__ volatile(KEEP FIRST);
    __asm__ volatile(
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "mov r12, r0\n"
        /* Where the loop begins: before the last fours of an iteration of four; elements that are left are the first. */
        "ldrd r2, r3, [r12, #4]\n" /* weights_bytes, rest */
        "adr.w r1, 10f\n"
        "orr r1, r1, #1\n"
        "rsb r2, r2, #0\n"
        "ubfx r2, r2, #4, #2\n"
        "add r2, r2, r2, lsl #2\n"
        "add r2, r1, r2, lsl #4\n"
        "cbz r3, 2f\n"
        "adr.w r2, 7f\n"
        "orr r2, r2, #1\n"
        "2:\n"
        "str r2, [r12, #12]\n" /* entry */
        "ldr r0, [r12, #16]\n" /* weights */
        "3:\n" /* the next four units */
        "ldm r0!, {r4, r5, r6, r7}\n"
        "ldrd r1, lr, [r12]\n" /* x, weights_bytes */
        "add lr, lr, r0\n"
        "ldr pc, [r12, #12]\n"
        "7:\n" /* one to three elements after whole fours, zeros after them */
        "ldrd r2, r3, [r12, #4]\n"
        "add r8, r1, r2, lsr #2\n"
        "subs r8, r8, #4\n"
        "rsb r9, r2, #0\n"
        "ubfx r9, r9, #4, #2\n"
        "add r9, r9, r9, lsl #2\n"
        "movs r2, #0\n"
        "8:\n" /* the next byte, from the last one back */
        "subs r3, r3, #1\n"
        "ldrb r10, [r8, r3]\n"
        "orr r2, r10, r2, lsl #8\n"
        "bne 8b\n"
        /* After the load of the first four that is entered. */
        "adr.w r3, 10f\n"
        "add r3, r3, r9, lsl #4\n"
        "add r3, r3, #5\n"
        "bx r3\n"
        ".p2align 2\n"
        "10:\n" /* four fours an iteration, each of 80 bytes */
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "ldr.w r2, [r1], #4\n" "kibi_four\n"
        "cmp r0, lr\n"
        "bne 10b\n"
        "ldr r12, [sp]\n"
        "ldrd lr, r3, [r12, #32]\n" /* scales, state_zero_point */
        "ldm lr, {r8, r9, r10}\n"
        "kibi_scale r4\n"
        "kibi_scale r5\n"
        "kibi_scale r6\n"
        "kibi_scale r7\n"
        /* Of a result the lowest byte counts. */
        "add r4, r4, r3\n"
        "add r5, r5, r3\n"
        "add r6, r6, r3\n"
        "add r7, r7, r3\n");
    __asm__ volatile(
        "ldr r1, [r12, #20]\n" /* state */
        "ldr r3, [r12, #40]\n" /* first_bytes */
        "kibi_keep r4, 24f, 14\n"
        "kibi_keep r5, 25f, 15\n"
        "kibi_keep r6, 26f, 16\n"
        "kibi_keep r7, 27f, 17\n"
        "ldr lr, [r12, #32]\n" /* scales */
        "str r1, [r12, #20]\n"
        "add lr, lr, #12\n"
        "ldm lr, {r8, r9, r10}\n"
        "kibi_scale r4\n"
        "kibi_scale r5\n"
        "kibi_scale r6\n"
        "kibi_scale r7\n"
        "ldrd r1, r2, [r12, #24]\n" /* output, output_end */
        "strb r5, [r1, #1]\n"
        "strb r6, [r1, #2]\n"
        "strb r7, [r1, #3]\n"
        "strb r4, [r1], #4\n"
        "str r1, [r12, #24]\n"
        "cmp r1, r2\n"
        "bne 3b\n"
        "str r0, [r12, #16]\n"
        "pop {r0, r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "24:\n" "kibi_first 14b, 34\n"
        "25:\n" "kibi_first 15b, 35\n"
        "26:\n" "kibi_first 16b, 36\n"
        "27:\n" "kibi_first 17b, 37\n"
        ".purgem kibi_one_filter\n"
        ".purgem kibi_four\n"
        ".purgem kibi_scale\n"
        ".purgem kibi_keep\n"
        ".purgem kibi_first\n");
}

void kibi_svdf_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_svdf_s8_blocks_params *const p = params;
    svdf_blocks blocks;
    blocks.x = rows[0];
    blocks.weights_bytes = (p->depth + 3) / 4 * 16;
    blocks.rest = p->depth % 4;
    blocks.state = (int8_t *)states[0];
    blocks.output = output;
    blocks.scales = KIBI_AT(int32_t, p, scales);
    blocks.state_zero_point = p->state_zero_point;
    blocks.first_bytes = p->memory - 8;
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        blocks.weights = KIBI_AT(int32_t, p, weights);
        blocks.output_end = blocks.output + p->units;
        all_units(&blocks);
        blocks.x += p->depth;
    }
}
