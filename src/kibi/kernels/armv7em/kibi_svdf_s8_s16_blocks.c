/* SVDF of int8 with a memory of int16 from packed weights, Armv7E-M: the same instructions from every compiler. Source of the rule:
 * TFLM, micro/kernels/svdf_common.cc. */
#include "kibi_svdf.h"

/* Parts that a library leaves out where no layer needs them: weights over the input in packed pairs, a weight in each byte, memories of
 * more than eight, results that are shifted to the right, and others. */
#ifndef KIBI_SVDF_S8_S16_BLOCKS_OF_PAIRS
#define KIBI_SVDF_S8_S16_BLOCKS_OF_PAIRS 1
#endif
#ifndef KIBI_SVDF_S8_S16_BLOCKS_OF_BYTES
#define KIBI_SVDF_S8_S16_BLOCKS_OF_BYTES 1
#endif
#ifndef KIBI_SVDF_S8_S16_BLOCKS_OF_LONG_MEMORIES
#define KIBI_SVDF_S8_S16_BLOCKS_OF_LONG_MEMORIES 1
#endif
#ifndef KIBI_SVDF_S8_S16_BLOCKS_TO_THE_RIGHT
#define KIBI_SVDF_S8_S16_BLOCKS_TO_THE_RIGHT 1
#endif
#ifndef KIBI_SVDF_S8_S16_BLOCKS_TO_THE_LEFT
#define KIBI_SVDF_S8_S16_BLOCKS_TO_THE_LEFT 1
#endif
#if KIBI_SVDF_S8_S16_BLOCKS_TO_THE_LEFT
#define OF_LEFT(text) text
#else
#define OF_LEFT(text) ""
#endif
#if KIBI_SVDF_S8_S16_BLOCKS_TO_THE_RIGHT || !KIBI_SVDF_S8_S16_BLOCKS_TO_THE_LEFT
#define OF_RIGHT(text) text
#else
#define OF_RIGHT(text) ""
#endif
#if KIBI_SVDF_S8_S16_BLOCKS_TO_THE_LEFT && KIBI_SVDF_S8_S16_BLOCKS_TO_THE_RIGHT
#define OF_BOTH(text) text
#else
#define OF_BOTH(text) ""
#endif
#define KIBI_SVDF_OF_PAIRS KIBI_SVDF_S8_S16_BLOCKS_OF_PAIRS
#define KIBI_SVDF_OF_BYTES (KIBI_SVDF_S8_S16_BLOCKS_OF_BYTES || !KIBI_SVDF_S8_S16_BLOCKS_OF_PAIRS)
#include "kibi_svdf_blocks.h"

/* A sum, 256 times the true one, becomes a filter's newest result, rounded half away from zero: r8 is what the multiplied sum is shifted
 * by but for the last bit, r9 the multiplier. Without a shift to the right the product is the result: r10 is what makes of the sum
 * twice the true one, which is shifted to the left. */
#define RESULT                              \
    ".macro kibi_result sum\n"              \
    "asr \\sum, \\sum, #7\n"                \
    "smmulr \\sum, \\sum, r9\n"             \
    "add \\sum, \\sum, \\sum, asr #31\n"    \
    "asr \\sum, \\sum, r8\n"                \
    "add \\sum, \\sum, #1\n"                \
    "ssat \\sum, #16, \\sum, asr #1\n"      \
    ".endm\n"                               \
    ".macro kibi_result_left sum\n"         \
    "asr \\sum, \\sum, r10\n"               \
    "smmulr \\sum, \\sum, r9\n"             \
    "ssat \\sum, #16, \\sum\n"              \
    ".endm\n"

/* A sum becomes an output: r10 holds the shift in its lowest byte, which is what a shift by a register looks at, r2 twice the zero point,
 * plus 1, and r11 twice the multiplier less 2**32: so the sum counts once more. */
#define OUTPUT                              \
    ".macro kibi_output sum\n"              \
    "smmlar \\sum, \\sum, r11, \\sum\n"     \
    "add \\sum, \\sum, \\sum, asr #31\n"    \
    "asr \\sum, \\sum, r10\n"               \
    "qadd \\sum, \\sum, r2\n"               \
    "ssat \\sum, #8, \\sum, asr #1\n"       \
    ".endm\n"

/* Four results move by one and are weighted: weights in two registers. */
#define FOUR                                \
    ".macro kibi_four first, second\n"      \
    "ldr r8, [r1, #2]\n"                    \
    "ldr r9, [r1, #6]\n"                    \
    "strd r8, r9, [r1], #8\n"               \
    "smlad r10, r8, \\first, r10\n"         \
    "smlad r10, r9, \\second, r10\n"        \
    ".endm\n"

/* The last eight: r10 is the sum so far, r11 and lr are weights of the first four of them. */
#define LAST                                \
    ".macro kibi_last newest\n"             \
    "kibi_four r11, lr\n"                   \
    "ldrd r11, lr, [r0], #8\n"              \
    "ldr r8, [r1, #2]\n"                    \
    "ldrh r9, [r1, #6]\n"                   \
    "pkhbt r9, r9, \\newest, lsl #16\n"     \
    "strd r8, r9, [r1], #8\n"               \
    "smlad r10, r8, r11, r10\n"             \
    "smlad \\newest, r9, lr, r10\n"         \
    ".endm\n"

/* All but the last eight results of a filter: eight an iteration, after four of an odd number of fours. The carry of a shift by 29 says
 * whether their number is odd. Then two words of weights. */
#define FIRST                               \
    KIBI_SVDF_FIRST_BEGINS("29")            \
    "ldr r10, [r0], #4\n"                   \
    "bcc 1f\n"                              \
    "ldrd r2, r3, [r0], #8\n"               \
    "kibi_four r2, r3\n"                    \
    "cmp r1, lr\n"                          \
    "beq 2f\n"                              \
    "1:\n"                                  \
    "ldm r0!, {r2, r3, r11, r12}\n"         \
    "kibi_four r2, r3\n"                    \
    "kibi_four r11, r12\n"                  \
    "cmp r1, lr\n"                          \
    "bne 1b\n"                              \
    "2:\n"                                  \
    "ldrd r11, lr, [r0], #8\n"              \
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

#if KIBI_SVDF_S8_S16_BLOCKS_OF_LONG_MEMORIES
#define IF_LONG KIBI_SVDF_IF_LONG
#define LONG KIBI_SVDF_KEEP_LONG("") FIRST
#else
#define IF_LONG
#define LONG ""
#endif

/* The registers of results and outputs beside those that the header names: r2, r3 weights; r8, r9 constants of results, what is kept;
 * r10 the sum; r11, r12, lr weights, where the first results end. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void kibi_svdf_all_units(KIBI_IN_REGISTER kibi_svdf_blocks *blocks)
{
    __asm__ volatile(
        ".syntax unified\n" KIBI_SVDF_FOUR_PAIRS KIBI_SVDF_FOUR_BYTES);
    __asm__ volatile(RESULT OUTPUT FOUR);
    __asm__ volatile(LAST KEEP);
    __asm__ volatile(KIBI_SVDF_BEGIN);
    __asm__ volatile(KIBI_SVDF_SUMS);
    __asm__ volatile(
        "ldm r12, {r1, r3, r8, r9, r10}\n"
        OF_BOTH("cmp r8, #0\n" "blt 8f\n")
        OF_RIGHT("kibi_result r4\n" "kibi_result r5\n" "kibi_result r6\n" "kibi_result r7\n")
        OF_BOTH("b 9f\n" "8:\n")
        OF_LEFT("kibi_result_left r4\n" "kibi_result_left r5\n" "kibi_result_left r6\n" "kibi_result_left r7\n")
        "9:\n" IF_LONG KIBI_SVDF_KEEP(""));
    __asm__ volatile(
        "str r1, [r12], #20\n"
        "ldm r12!, {r8, r9, r10, r11}\n"
        "asr r2, r10, #8\n"
        "kibi_output r4\n"
        "kibi_output r5\n"
        "kibi_output r6\n"
        "kibi_output r7\n" KIBI_SVDF_END);
    __asm__ volatile(LONG);
    __asm__ volatile(
        KIBI_SVDF_FORGET
        ".purgem kibi_result\n"
        ".purgem kibi_result_left\n"
        ".purgem kibi_output\n"
        ".purgem kibi_four\n"
        ".purgem kibi_last\n"
        ".purgem kibi_short\n"
        ".purgem kibi_long\n");
}

void kibi_svdf_s8_s16_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_s16_blocks_params *params, void *scratch,
                             void *const *states)
{
    const kibi_svdf_s8_s16_blocks_params *const p = params;
    kibi_svdf_blocks blocks;
    (void)scratch;
    blocks.x = rows[0];
    blocks.state = states[0];
    blocks.output = output;
    blocks.first_bytes = 2 * (p->memory - 8);
    blocks.result_rounding = ~p->result_shift;
    blocks.result_factor = p->result_multiplier;
    blocks.result_offset = (uint32_t)(7 - p->result_shift);
    blocks.output_rounding = (int32_t)((uint32_t)(2 * p->output_zero_point + 1) << 8 | (uint32_t)~p->output_shift);
    blocks.output_factor = (int32_t)((uint32_t)p->output_multiplier << 1);
    blocks.weights = KIBI_AT(int32_t, p, weights);
    kibi_svdf_all_batches(&blocks, p->batches, p->depth, p->units);
}
