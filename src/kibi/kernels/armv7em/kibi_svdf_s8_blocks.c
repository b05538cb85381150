/* SVDF of int8 from packed weights, Armv7E-M: the same instructions from every compiler. Source of the rule: TFLM,
 * micro/kernels/svdf_common.cc. */
#include "kibi_svdf.h"

/* Parts that a library leaves out where no layer needs them: weights over the input in packed pairs, a weight in each byte, memories of
 * more than eight. */
#ifndef KIBI_SVDF_S8_BLOCKS_OF_PAIRS
#define KIBI_SVDF_S8_BLOCKS_OF_PAIRS 1
#endif
#ifndef KIBI_SVDF_S8_BLOCKS_OF_BYTES
#define KIBI_SVDF_S8_BLOCKS_OF_BYTES 1
#endif
#ifndef KIBI_SVDF_S8_BLOCKS_OF_LONG_MEMORIES
#define KIBI_SVDF_S8_BLOCKS_OF_LONG_MEMORIES 1
#endif
#define KIBI_SVDF_OF_PAIRS KIBI_SVDF_S8_BLOCKS_OF_PAIRS
#define KIBI_SVDF_OF_BYTES (KIBI_SVDF_S8_BLOCKS_OF_BYTES || !KIBI_SVDF_S8_BLOCKS_OF_PAIRS)
#include "kibi_svdf_blocks.h"

/* A sum becomes a filter's newest result, in the highest byte with the zero point: r8 is the switch, r9 the factor, r10 the zero point. */
#define RESULT                              \
    ".macro kibi_result sum\n"              \
    "bic r2, r8, \\sum, asr #31\n"          \
    "smmla \\sum, \\sum, r9, r2\n"          \
    "ssat \\sum, #8, \\sum, asr #12\n"      \
    "add \\sum, r10, \\sum, lsl #24\n"      \
    ".endm\n"

/* A sum becomes an output: r10 is the switch, r11 the factor. */
#define OUTPUT                              \
    ".macro kibi_output sum\n"              \
    "bic r2, r10, \\sum, lsr #27\n"         \
    "smmla \\sum, \\sum, r11, r2\n"         \
    "ssat \\sum, #8, \\sum, asr #8\n"       \
    ".endm\n"

/* Four weights in a word, times 256, and four results in another one, added to a sum: r3 is a mask of the odd bytes; r2 and another
 * register are free. */
#define WEIGH                               \
    ".macro kibi_weigh sum, weights, kept, free, to\n" \
    "and r2, r3, \\weights, lsl #8\n"       \
    "and \\weights, \\weights, r3\n"        \
    "sxtb16 \\free, \\kept\n"               \
    "sxtb16 \\kept, \\kept, ror #8\n"       \
    "smlad \\sum, r2, \\free, \\sum\n"      \
    "smlad \\to, \\weights, \\kept, \\sum\n" \
    ".endm\n"                               \
    /* The same, not times 256, added to r2; r3 and r12 are free. */ \
    ".macro kibi_weigh_first weights, kept\n" \
    "sxtb16 r12, \\weights\n"               \
    "sxtb16 \\weights, \\weights, ror #8\n" \
    "sxtb16 r3, \\kept\n"                   \
    "sxtb16 \\kept, \\kept, ror #8\n"       \
    "smlad r2, r12, r3, r2\n"               \
    "smlad r2, \\weights, \\kept, r2\n"     \
    ".endm\n"

/* The last eight: r10 is the sum so far, r11 and lr are their weights. */
#define LAST                                \
    ".macro kibi_last newest\n"             \
    "ldr r8, [r1, #1]\n"                    \
    "ldr r9, [r1, #4]\n"                    \
    "orr r9, \\newest, r9, lsr #8\n"        \
    "strd r8, r9, [r1], #8\n"               \
    "kibi_weigh r10, r11, r8, \\newest, r10\n" \
    "kibi_weigh r10, lr, r9, \\newest, \\newest\n" \
    ".endm\n"

/* All but the last eight results of a filter move by one and are weighted: two words an iteration, after one word of an odd number.
 * A shift by 30 leaves nothing of the bytes of whole words, and the carry says whether their number is odd. */
#define FIRST                               \
    KIBI_SVDF_FIRST_BEGINS("30")            \
    "bcc 1f\n"                              \
    "ldr r8, [r1, #1]\n"                    \
    "ldr r10, [r0], #4\n"                   \
    "str r8, [r1], #4\n"                    \
    "kibi_weigh_first r10, r8\n"            \
    "cmp r1, lr\n"                          \
    "beq 2f\n"                              \
    "1:\n"                                  \
    "ldr r8, [r1, #1]\n"                    \
    "ldr r9, [r1, #5]\n"                    \
    "ldrd r10, r11, [r0], #8\n"             \
    "strd r8, r9, [r1], #8\n"               \
    "kibi_weigh_first r10, r8\n"            \
    "kibi_weigh_first r11, r9\n"            \
    "cmp r1, lr\n"                          \
    "bne 1b\n"                              \
    "2:\n"                                  \
    "mov r3, #0xFF00FF00\n"                 \
    "ldm r0!, {r10, r11, lr}\n"             \
    "add r10, r10, r2, lsl #8\n"            \
    KIBI_SVDF_FIRST_ENDS

/* A filter's newest result becomes the sum of what it keeps. */
#define KEEP                                \
    ".macro kibi_short newest\n"            \
    "ldm r0!, {r10, r11, lr}\n"             \
    "kibi_last \\newest\n"                  \
    ".endm\n"                               \
    ".macro kibi_long newest\n"             \
    "bl 42f\n"                              \
    "kibi_last \\newest\n"                  \
    ".endm\n"

#define MASK "mov r3, #0xFF00FF00\n"
#if KIBI_SVDF_S8_BLOCKS_OF_LONG_MEMORIES
#define IF_LONG KIBI_SVDF_IF_LONG
#define LONG KIBI_SVDF_KEEP_LONG(MASK) FIRST
#else
#define IF_LONG
#define LONG ""
#endif

/* The registers of results and outputs beside those that the header names: r2 is free; r3 a mask of the odd bytes; r8 … r11, lr
 * constants, what is kept, a sum, weights. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void kibi_svdf_all_units(KIBI_IN_REGISTER kibi_svdf_blocks *blocks)
{
    __asm__ volatile(
        ".syntax unified\n" KIBI_SVDF_FOUR_PAIRS KIBI_SVDF_FOUR_BYTES);
    __asm__ volatile(RESULT OUTPUT WEIGH);
    __asm__ volatile(LAST KEEP);
    __asm__ volatile(KIBI_SVDF_BEGIN);
    __asm__ volatile(KIBI_SVDF_SUMS);
    __asm__ volatile(
        "ldm r12, {r1, r3, r8, r9, r10}\n"
        "kibi_result r4\n"
        "kibi_result r5\n"
        "kibi_result r6\n"
        "kibi_result r7\n" IF_LONG KIBI_SVDF_KEEP(MASK));
    __asm__ volatile(
        "str r1, [r12], #20\n"
        "ldm r12!, {r8, r9, r10, r11}\n"
        "kibi_output r4\n"
        "kibi_output r5\n"
        "kibi_output r6\n"
        "kibi_output r7\n" KIBI_SVDF_END);
    __asm__ volatile(LONG);
    __asm__ volatile(
        KIBI_SVDF_FORGET
        ".purgem kibi_result\n"
        ".purgem kibi_output\n"
        ".purgem kibi_weigh\n"
        ".purgem kibi_weigh_first\n"
        ".purgem kibi_last\n"
        ".purgem kibi_short\n"
        ".purgem kibi_long\n");
}

void kibi_svdf_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_svdf_s8_blocks_params *const p = params;
    kibi_svdf_blocks blocks;
    (void)scratch;
    blocks.x = rows[0];
    blocks.state = states[0];
    blocks.output = output;
    blocks.first_bytes = p->memory - 8;
    blocks.result_rounding = p->result_switch;
    blocks.result_factor = p->result_factor;
    blocks.result_offset = (uint32_t)p->state_zero_point << 24;
    blocks.output_rounding = p->output_switch;
    blocks.output_factor = p->output_factor;
    blocks.weights = KIBI_AT(int32_t, p, weights);
    kibi_svdf_all_batches(&blocks, p->batches, p->depth, p->units);
}
