/* Blocks of four units of SVDF from packed weights, Armv7E-M: what memories of int8 and of int16 share.
 *
 * A file says before it includes this one which forms of weights over the input it needs: KIBI_SVDF_OF_PAIRS, packed pairs, and
 * KIBI_SVDF_OF_BYTES, a weight in each byte. At least one of both is 1. */
#ifndef KIBI_SVDF_BLOCKS_H
#define KIBI_SVDF_BLOCKS_H

#include "kibi_dsp.h"
#include "kibi_svdf.h"

typedef struct {
    void *state;
    int32_t first_bytes;     /* kept by a filter before the last eight results */
    int32_t result_rounding; /* of both kernels their own, as the next four are */
    int32_t result_factor;
    uint32_t result_offset;
    int8_t *output;
    const int8_t *output_end;
    int32_t output_rounding;
    int32_t output_factor;
    int32_t entry[2];      /* where a block of either form begins after the first loads; the assembly writes all entries */
    int32_t after_rest[2]; /* where it goes on after elements that are no four */
    int32_t bytes_entry;   /* where the loop over bytes is entered after it has its mask */
    const int8_t *x;
    int32_t weights_bytes; /* of four filters over the input: 16 for each four elements; the last one may have one to three */
    int32_t has_rest;      /* 0: elements are whole fours */
    uint32_t rest;         /* the elements after these, then zeros */
    const int32_t *weights;
} kibi_svdf_blocks;

/* Where the assembly reads them: the first of them, then from the output on, then from the entries on. */
KIBI_FIELD_AT(kibi_svdf_blocks, state, 0);
KIBI_FIELD_AT(kibi_svdf_blocks, first_bytes, 4);
KIBI_FIELD_AT(kibi_svdf_blocks, result_rounding, 8);
KIBI_FIELD_AT(kibi_svdf_blocks, result_factor, 12);
KIBI_FIELD_AT(kibi_svdf_blocks, result_offset, 16);
KIBI_FIELD_AT(kibi_svdf_blocks, output, 20);
KIBI_FIELD_AT(kibi_svdf_blocks, output_end, 24);
KIBI_FIELD_AT(kibi_svdf_blocks, output_rounding, 28);
KIBI_FIELD_AT(kibi_svdf_blocks, output_factor, 32);
KIBI_FIELD_AT(kibi_svdf_blocks, entry, 36);
KIBI_FIELD_AT(kibi_svdf_blocks, after_rest, 36 + 8);
KIBI_FIELD_AT(kibi_svdf_blocks, bytes_entry, 36 + 16);
KIBI_FIELD_AT(kibi_svdf_blocks, x, 36 + 20);
KIBI_FIELD_AT(kibi_svdf_blocks, weights_bytes, 36 + 24);
KIBI_FIELD_AT(kibi_svdf_blocks, has_rest, 36 + 28);
KIBI_FIELD_AT(kibi_svdf_blocks, rest, 36 + 32);
KIBI_FIELD_AT(kibi_svdf_blocks, weights, 36 + 36);

/* Computes all units of a vector. Each kernel has its own, which begins with KIBI_SVDF_BEGIN, then has KIBI_SVDF_SUMS.
 *
 * Registers and stack:
 *   r0         the weights; before: blocks
 *   r1         the input, then the state
 *   r2, r3     elements as factors; then the kernel's own
 *   r4 … r7    the sums of four filters; then their results, the sums of what they keep, and outputs
 *   r8 … r11   the form; weights; then the kernel's own; at the end of a block r8 the output, r9 its end
 *   r12        blocks, from the entries on at the begin of a block; while filters are multiplied, free
 *   lr         where weights end, or a mask of the odd bytes; then the kernel's own
 *   sp + 0     blocks
 *   sp + 4     where weights end, if lr is a mask; then where the function for long memories returns to
 *   sp + 8     bytes of a long memory before the last eight results
 *   sp + 12    r4 … r11, lr of the caller
 * Stack: 48 bytes. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void kibi_svdf_all_units(KIBI_IN_REGISTER kibi_svdf_blocks *blocks);

/* Macros of the assembler, because ISO C limits how long a text may be; KIBI_SVDF_FORGET forgets them.
 *
 * Four elements in r2, and their weights for four filters in packed pairs: 60 bytes of instructions after the load of the elements. */
#define KIBI_SVDF_FOUR_PAIRS                \
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
#define KIBI_SVDF_FOUR_BYTES                \
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

#define KIBI_SVDF_FORGET                    \
    ".purgem kibi_pairs\n"                  \
    ".purgem kibi_four_pairs\n"             \
    ".purgem kibi_bytes\n"                  \
    ".purgem kibi_four_bytes\n"

/* Where the loop over fours of packed pairs is entered: r2 fours, each of 64 bytes, after its begin. */
#define KIBI_SVDF_PAIRS_ENTRY               \
    "adr.w r5, 10f\n"                       \
    "add r5, r5, r2, lsl #6\n"              \
    "add r5, r5, r3\n"
/* The same of bytes, each of 80 bytes, which need a mask first. */
#define KIBI_SVDF_BYTES_ENTRY               \
    "adr.w r4, 20f\n"                       \
    "add r2, r2, r2, lsl #2\n"              \
    "add r4, r4, r2, lsl #4\n"              \
    "add r4, r4, r3\n"                      \
    "str r4, [r12, #16]\n" /* bytes_entry */ \
    "adr.w r6, 19f\n"                       \
    "orr r6, r6, #1\n"

/* r5, r6: the entries of both forms; a form that the library leaves out has that of the other one. */
#if KIBI_SVDF_OF_PAIRS && KIBI_SVDF_OF_BYTES
#define KIBI_SVDF_ENTRIES KIBI_SVDF_PAIRS_ENTRY KIBI_SVDF_BYTES_ENTRY
#elif KIBI_SVDF_OF_PAIRS
#define KIBI_SVDF_ENTRIES KIBI_SVDF_PAIRS_ENTRY "mov r6, r5\n"
#else
#define KIBI_SVDF_ENTRIES KIBI_SVDF_BYTES_ENTRY "mov r5, r6\n"
#endif

/* Up to the loops of KIBI_SVDF_SUMS. Where these begin: before the last fours of an iteration of four. Elements that are left are
 * the first; they are in r2 before the load of the four that is entered. */
#define KIBI_SVDF_BEGIN                     \
    "push {r0, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n" \
    "add r12, r0, #36\n"                    \
    "ldrd r2, r3, [r12, #24]\n" /* weights_bytes, has_rest */ \
    "rsb r2, r2, #0\n"                      \
    "ubfx r2, r2, #4, #2\n"                 \
    "lsl r3, r3, #2\n"                      \
    "orr r3, r3, #1\n"                      \
    KIBI_SVDF_ENTRIES                       \
    "strd r5, r6, [r12, #8]\n" /* after_rest */ \
    "lsrs r3, r3, #2\n"                     \
    "beq 4f\n"                              \
    "adr.w r5, 7f\n"                        \
    "orr r5, r5, #1\n"                      \
    "mov r6, r5\n"                          \
    "4:\n"                                  \
    "strd r5, r6, [r12]\n" /* entry */      \
    "ldr r0, [r12, #36]\n" /* weights */    \
    "5:\n" /* the next four units */        \
    "ldm r0!, {r4, r5, r6, r7, r8}\n"       \
    "ldrd r1, lr, [r12, #20]\n" /* x, weights_bytes */ \
    "and r8, r8, #1\n"                      \
    "add lr, lr, r0\n"                      \
    "ldr pc, [r12, r8, lsl #2]\n"           \
    "7:\n" /* one to three elements after whole fours, zeros after them */ \
    "ldr r2, [r12, #32]\n"                  \
    "add r8, r12, r8, lsl #2\n"             \
    "ldr pc, [r8, #8]\n"

/* Four fours an iteration, each of 64 bytes. */
#define KIBI_SVDF_LOOP_OVER_PAIRS           \
    ".p2align 2\n"                          \
    "10:\n"                                 \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "ldr.w r2, [r1], #4\n" "kibi_four_pairs\n" \
    "cmp r0, lr\n"                          \
    "bne 10b\n"

/* The same of bytes, each of 80 bytes; the end of the weights is on the stack. */
#define KIBI_SVDF_LOOP_OVER_BYTES           \
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

/* The sums of four filters over the input, times 256, in r4 … r7; then r12 is blocks. */
#if KIBI_SVDF_OF_PAIRS && KIBI_SVDF_OF_BYTES
#define KIBI_SVDF_SUMS KIBI_SVDF_LOOP_OVER_PAIRS "b 3f\n" KIBI_SVDF_LOOP_OVER_BYTES "3:\n" "ldr r12, [sp]\n"
#elif KIBI_SVDF_OF_PAIRS
#define KIBI_SVDF_SUMS KIBI_SVDF_LOOP_OVER_PAIRS "ldr r12, [sp]\n"
#else
#define KIBI_SVDF_SUMS KIBI_SVDF_LOOP_OVER_BYTES "ldr r12, [sp]\n"
#endif

/* The newest results of four filters become the sums of what they keep. A file that has long memories puts KIBI_SVDF_IF_LONG before it, for
 * which r3 is the number of bytes before the last eight results, and KIBI_SVDF_KEEP_LONG after all: that calls the function at 42 for these
 * bytes. `prepare` comes before the first filter. */
#define KIBI_SVDF_KEEP(prepare)             \
    prepare                                 \
    "kibi_short r4\n"                       \
    "kibi_short r5\n"                       \
    "kibi_short r6\n"                       \
    "kibi_short r7\n"                       \
    "41:\n"
#define KIBI_SVDF_IF_LONG                   \
    "cmp r3, #0\n"                          \
    "bne 40f\n"
#define KIBI_SVDF_KEEP_LONG(prepare)        \
    "40:\n"                                 \
    "str r3, [sp, #8]\n"                    \
    prepare                                 \
    "kibi_long r4\n"                        \
    "kibi_long r5\n"                        \
    "kibi_long r6\n"                        \
    "kibi_long r7\n"                        \
    "ldr r12, [sp]\n"                       \
    "b 41b\n"

/* The begin of the function at 42, and its end: lr is where the first results end, and the carry what a shift by `bits` says. */
#define KIBI_SVDF_FIRST_BEGINS(bits)        \
    "42:\n"                                 \
    "str lr, [sp, #4]\n"                    \
    "ldr lr, [sp, #8]\n"                    \
    "lsls r2, lr, #" bits "\n"              \
    "add lr, lr, r1\n"
#define KIBI_SVDF_FIRST_ENDS "ldr pc, [sp, #4]\n"

/* Writes the outputs in r4 … r7 from r8 on, and goes on with the next block; r12 is blocks, from the entries on. */
#define KIBI_SVDF_END                       \
    "strb r5, [r8, #1]\n"                   \
    "strb r6, [r8, #2]\n"                   \
    "strb r7, [r8, #3]\n"                   \
    "strb r4, [r8], #4\n"                   \
    "str r8, [r12, #-16]\n" /* output */    \
    "cmp r8, r9\n"                          \
    "bne 5b\n"                              \
    "pop {r0, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

/* The last `count` of `depth` elements, in the lowest bytes of a word. */
static inline uint32_t kibi_svdf_last_elements(const int8_t *x, int32_t depth, int32_t count)
{
    uint32_t word = 0;
    for (int32_t k = 1; k <= count; ++k) {
        word = word << 8 | (uint8_t)x[depth - k];
    }
    return word;
}

/* Computes all vectors of `depth` elements. blocks: its first fields, but for the output's end, are set; x is the first vector. */
static inline void kibi_svdf_all_batches(kibi_svdf_blocks *blocks, int32_t batches, int32_t depth, int32_t units)
{
    const int32_t rest = depth % 4;
    blocks->weights_bytes = (depth + 3) / 4 * 16;
    blocks->has_rest = rest != 0;
    for (int32_t batch = 0; batch < batches; ++batch) {
        blocks->rest = kibi_svdf_last_elements(blocks->x, depth, rest);
        blocks->output_end = blocks->output + units;
        kibi_svdf_all_units(blocks);
        blocks->x += depth;
    }
}

#endif
