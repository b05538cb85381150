/* SVDF of int8 from packed weights, Armv7E-M: the same instructions from every compiler. Source of the rule: TFLM,
 * micro/kernels/svdf_common.cc. */
#include "kibi_dsp.h"
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

/* What all blocks of four units share. */
typedef struct {
    int8_t *state;
    int32_t first_bytes;       /* kept by a filter before the last eight */
    int32_t result_switch;
    int32_t result_factor;
    uint32_t state_zero_point; /* in the highest byte */
    int8_t *output;
    const int8_t *output_end;
    int32_t output_switch;
    int32_t output_factor;
    int32_t entry[2];          /* where a block of either form begins after the first loads; the assembly writes all entries */
    int32_t after_rest[2];     /* where it goes on after elements that are no four */
    int32_t bytes_entry;       /* where the loop over bytes is entered after it has its mask */
    const int8_t *x;
    int32_t weights_bytes;     /* of four filters over the input: 16 for each four elements; the last one may have one to three */
    int32_t has_rest;          /* 0: elements are whole fours */
    uint32_t rest;             /* the elements after these, then zeros */
    const int32_t *weights;
} svdf_blocks;

/* Where the assembly reads them: the first of them, then from the output on, then from the entries on. */
KIBI_FIELD_AT(svdf_blocks, state, 0);
KIBI_FIELD_AT(svdf_blocks, first_bytes, 4);
KIBI_FIELD_AT(svdf_blocks, result_switch, 8);
KIBI_FIELD_AT(svdf_blocks, result_factor, 12);
KIBI_FIELD_AT(svdf_blocks, state_zero_point, 16);
KIBI_FIELD_AT(svdf_blocks, output, 20);
KIBI_FIELD_AT(svdf_blocks, output_end, 24);
KIBI_FIELD_AT(svdf_blocks, output_switch, 28);
KIBI_FIELD_AT(svdf_blocks, output_factor, 32);
KIBI_FIELD_AT(svdf_blocks, entry, 36);
KIBI_FIELD_AT(svdf_blocks, after_rest, 36 + 8);
KIBI_FIELD_AT(svdf_blocks, bytes_entry, 36 + 16);
KIBI_FIELD_AT(svdf_blocks, x, 36 + 20);
KIBI_FIELD_AT(svdf_blocks, weights_bytes, 36 + 24);
KIBI_FIELD_AT(svdf_blocks, has_rest, 36 + 28);
KIBI_FIELD_AT(svdf_blocks, rest, 36 + 32);
KIBI_FIELD_AT(svdf_blocks, weights, 36 + 36);

/* Macros of the assembler, because ISO C limits how long a text may be; the function's last lines forget them.
 *
 * Four elements in r2, and their weights for four filters in packed pairs: 60 bytes of instructions after the load of the elements. */
#define FOUR_PAIRS                          \
    ".macro kibi_pairs sum, weights\n"      \
    "sxtb16 r12, \\weights\n"               \
    "smlad \\sum, \\weights, r2, \\sum\n"   \
    "smlad \\sum, r12, r3, \\sum\n"         \
    ".endm\n"                               \
    ".macro kibi_four_pairs\n"              \
    "ldm.w r0!, {r8, r9, r10, r11}\n"       \
    "eor r3, r2, #0x7F007F\n"               \
    "sxtb16 r2, r2\n"                       \
    "kibi_pairs r4, r8\n"                   \
    "kibi_pairs r5, r9\n"                   \
    "kibi_pairs r6, r10\n"                  \
    "kibi_pairs r7, r11\n"                  \
    ".endm\n"

/* The same with a weight in each byte, all of them times 256: 76 bytes. */
#define FOUR_BYTES                          \
    ".macro kibi_bytes sum, weights\n"      \
    "and r12, lr, \\weights, lsl #8\n"      \
    "and \\weights, \\weights, lr\n"        \
    "smlad \\sum, r12, r3, \\sum\n"         \
    "smlad \\sum, \\weights, r2, \\sum\n"   \
    ".endm\n"                               \
    ".macro kibi_four_bytes\n"              \
    "ldm.w r0!, {r8, r9, r10, r11}\n"       \
    "sxtb16 r3, r2\n"                       \
    "sxtb16 r2, r2, ror #8\n"               \
    "kibi_bytes r4, r8\n"                   \
    "kibi_bytes r5, r9\n"                   \
    "kibi_bytes r6, r10\n"                  \
    "kibi_bytes r7, r11\n"                  \
    ".endm\n"

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

/* A filter's newest result becomes the sum of what it keeps. Not zero: the first of that moves by one in a loop at the label `first`,
 * which goes on after the load that it makes in place of this one. */
#if KIBI_SVDF_S8_BLOCKS_OF_LONG_MEMORIES
#define IF_LONG "bne \\first\n"
#else
#define IF_LONG
#endif
#define KEEP                                \
    ".macro kibi_keep newest, first, next\n" \
    IF_LONG                                 \
    "ldm r0!, {r10, r11, lr}\n"             \
    "\\next:\n"                             \
    "ldr r8, [r1, #1]\n"                    \
    "ldr r9, [r1, #4]\n"                    \
    "orr r9, \\newest, r9, lsr #8\n"        \
    "strd r8, r9, [r1], #8\n"               \
    "and r2, r3, r11, lsl #8\n"             \
    "and r11, r11, r3\n"                    \
    "sxtb16 \\newest, r8\n"                 \
    "sxtb16 r8, r8, ror #8\n"               \
    "smlad r10, r2, \\newest, r10\n"        \
    "smlad r10, r11, r8, r10\n"             \
    "and r2, r3, lr, lsl #8\n"              \
    "and lr, lr, r3\n"                      \
    "sxtb16 \\newest, r9\n"                 \
    "sxtb16 r9, r9, ror #8\n"               \
    "smlad r10, r2, \\newest, r10\n"        \
    "smlad \\newest, lr, r9, r10\n"         \
    ".endm\n"

/* The loop over all but the last eight, which ends with flags that say not zero. */
#define FIRST                               \
    ".macro kibi_first next, again\n"       \
    "ldr lr, [r12, #4]\n" /* first_bytes */ \
    "movs r2, #0\n"                         \
    "add lr, lr, r1\n"                      \
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
    "bne \\again\\()b\n"                    \
    "ldm r0!, {r10, r11, lr}\n"             \
    "add r10, r10, r2, lsl #8\n"            \
    "cmp r0, #0\n"                          \
    "b \\next\n"                            \
    ".endm\n"

/* Where the loop over fours of packed pairs is entered: r2 fours, each of 64 bytes, after its begin. */
#define PAIRS_ENTRY                         \
    "adr.w r5, 10f\n"                       \
    "add r5, r5, r2, lsl #6\n"              \
    "add r5, r5, r3\n"
/* The same of bytes, each of 80 bytes, which need a mask first. */
#define BYTES_ENTRY                         \
    "adr.w r4, 20f\n"                       \
    "add r2, r2, r2, lsl #2\n"              \
    "add r4, r4, r2, lsl #4\n"              \
    "add r4, r4, r3\n"                      \
    "str r4, [r12, #16]\n" /* bytes_entry */ \
    "adr.w r6, 19f\n"                       \
    "orr r6, r6, #1\n"

/* r5, r6: the entries of both forms; a form that the library leaves out has that of the other one. */
#if KIBI_SVDF_S8_BLOCKS_OF_PAIRS && KIBI_SVDF_S8_BLOCKS_OF_BYTES
#define ENTRIES PAIRS_ENTRY BYTES_ENTRY
#define PAIRS_END "b 3f\n"
#elif KIBI_SVDF_S8_BLOCKS_OF_PAIRS
#define ENTRIES PAIRS_ENTRY "mov r6, r5\n"
#define PAIRS_END
#else
#define ENTRIES BYTES_ENTRY "mov r5, r6\n"
#define PAIRS_END
#endif

/* Four fours an iteration, each of 64 bytes. */
#define LOOP_OVER_PAIRS                     \
    ".p2align 2\n"                          \
    "10:\n"                                 \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "cmp r0, lr\n"                          \
    "bne 10b\n"                             \
    PAIRS_END

/* The same of bytes, each of 80 bytes; the end of the weights is on the stack. */
#define LOOP_OVER_BYTES                     \
    "19:\n"                                 \
    "str lr, [sp, #4]\n"                    \
    "mov lr, #0xFF00FF00\n"                 \
    "ldr pc, [r12, #16]\n" /* bytes_entry */ \
    ".p2align 2\n"                          \
    "20:\n"                                 \
    "ldr.w r2, [r1], #4\n" "kibi_four_bytes\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_bytes\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_bytes\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_bytes\n" \
    "ldr r12, [sp, #4]\n"                   \
    "cmp r0, r12\n"                         \
    "bne 20b\n"

/* Registers and stack:
 *   r0         the weights; before: blocks
 *   r1         the input, then the state
 *   r2, r3     elements as factors; then free, and a mask of the odd bytes
 *   r4 … r7    the sums of four filters, their results, then the sums of what they keep
 *   r8 … r11   the form; weights; constants of results; what is kept, a sum, weights; the output, its end and constants of outputs
 *   r12        blocks, from the entries on at the begin of a block; while filters are multiplied, free
 *   lr         where weights end, or a mask of the odd bytes; weights
 *   sp + 0     blocks
 *   sp + 4     where weights end, if lr is a mask
 *   sp + 8     r4 … r11, lr of the caller
 * Stack: 44 bytes. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void all_units(KIBI_IN_REGISTER svdf_blocks *blocks)
{
    __asm__ volatile(
        ".syntax unified\n" FOUR_PAIRS FOUR_BYTES);
    __asm__ volatile(RESULT OUTPUT KEEP FIRST);
    __asm__ volatile(
        "push {r0, r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "add r12, r0, #36\n"
        /* Where the loops begin: before the last fours of an iteration of four. Elements that are left are the first; they are in
         * r2 before the load of the four that is entered. */
        "ldrd r2, r3, [r12, #24]\n" /* weights_bytes, has_rest */
        "rsb r2, r2, #0\n"
        "ubfx r2, r2, #4, #2\n"
        "lsl r3, r3, #2\n"
        "orr r3, r3, #1\n"
        ENTRIES
        "strd r5, r6, [r12, #8]\n" /* after_rest */
        "lsrs r3, r3, #2\n"
        "beq 4f\n"
        "adr.w r5, 7f\n"
        "orr r5, r5, #1\n"
        "mov r6, r5\n"
        "4:\n"
        "strd r5, r6, [r12]\n" /* entry */
        "ldr r0, [r12, #36]\n" /* weights */
        "5:\n" /* the next four units */
        "ldm r0!, {r4, r5, r6, r7, r8}\n"
        "ldrd r1, lr, [r12, #20]\n" /* x, weights_bytes */
        "and r8, r8, #1\n"
        "add lr, lr, r0\n"
        "ldr pc, [r12, r8, lsl #2]\n"
        "7:\n" /* one to three elements after whole fours, zeros after them */
        "ldr r2, [r12, #32]\n"
        "add r8, r12, r8, lsl #2\n"
        "ldr pc, [r8, #8]\n");
#if KIBI_SVDF_S8_BLOCKS_OF_PAIRS
    __asm__ volatile(LOOP_OVER_PAIRS);
#endif
#if KIBI_SVDF_S8_BLOCKS_OF_BYTES || !KIBI_SVDF_S8_BLOCKS_OF_PAIRS
    __asm__ volatile(LOOP_OVER_BYTES);
#endif
    __asm__ volatile(
        "3:\n"
        "ldr r12, [sp]\n"
        "ldm r12, {r1, r3, r8, r9, r10}\n"
        "kibi_result r4\n"
        "kibi_result r5\n"
        "kibi_result r6\n"
        "kibi_result r7\n"
        "cmp r3, #0\n" /* Flags stay as they are until all is kept. */
        "mov r3, #0xFF00FF00\n");
    __asm__ volatile(
        "kibi_keep r4, 24f, 14\n"
        "kibi_keep r5, 25f, 15\n"
        "kibi_keep r6, 26f, 16\n"
        "kibi_keep r7, 27f, 17\n"
        "str r1, [r12], #20\n"
        "ldm r12!, {r8, r9, r10, r11}\n"
        "kibi_output r4\n"
        "kibi_output r5\n"
        "kibi_output r6\n"
        "kibi_output r7\n"
        "strb r5, [r8, #1]\n"
        "strb r6, [r8, #2]\n"
        "strb r7, [r8, #3]\n"
        "strb r4, [r8], #4\n"
        "str r8, [r12, #-16]\n" /* output */
        "cmp r8, r9\n"
        "bne 5b\n"
        "pop {r0, r3, r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
#if KIBI_SVDF_S8_BLOCKS_OF_LONG_MEMORIES
    __asm__ volatile(
        "24:\n" "kibi_first 14b, 34\n"
        "25:\n" "kibi_first 15b, 35\n"
        "26:\n" "kibi_first 16b, 36\n"
        "27:\n" "kibi_first 17b, 37\n");
#endif
    __asm__ volatile(
        ".purgem kibi_pairs\n"
        ".purgem kibi_four_pairs\n"
        ".purgem kibi_bytes\n"
        ".purgem kibi_four_bytes\n"
        ".purgem kibi_result\n"
        ".purgem kibi_output\n"
        ".purgem kibi_keep\n"
        ".purgem kibi_first\n");
}

/* The last `count` of `depth` elements, in the lowest bytes of a word. */
static uint32_t last_elements(const int8_t *x, int32_t depth, int32_t count)
{
    uint32_t word = 0;
    for (int32_t k = 1; k <= count; ++k) {
        word = word << 8 | (uint8_t)x[depth - k];
    }
    return word;
}

void kibi_svdf_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_svdf_s8_blocks_params *const p = params;
    const int32_t rest = p->depth % 4;
    svdf_blocks blocks;
    blocks.x = rows[0];
    blocks.weights_bytes = (p->depth + 3) / 4 * 16;
    blocks.has_rest = rest != 0;
    blocks.state = (int8_t *)states[0];
    blocks.output = output;
    blocks.state_zero_point = (uint32_t)p->state_zero_point << 24;
    blocks.result_factor = p->result_factor;
    blocks.result_switch = p->result_switch;
    blocks.output_factor = p->output_factor;
    blocks.output_switch = p->output_switch;
    blocks.first_bytes = p->memory - 8;
    blocks.weights = KIBI_AT(int32_t, p, weights);
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        blocks.rest = last_elements(blocks.x, p->depth, rest);
        blocks.output_end = blocks.output + p->units;
        all_units(&blocks);
        blocks.x += p->depth;
    }
}
