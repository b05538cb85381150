/* Pairs of channels of two to four pixels of a convolution whose windows, three wide, share columns, Armv7E-M: the same
 * instructions from every compiler. */
#include "kibi_conv2d_s8_columns_block.h"

#include "kibi_dsp.h"
#include "kibi_requantize.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, output, 0);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, distance, 4);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, end, 8);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, columns, 12);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, columns_end, 16);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, zero_point, 20);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, sums, 24);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, stream, 28);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, groups, 32);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, flags, 36);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, low, 40);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, high, 44);
#if KIBI_CONV2D_COLUMNS_OF_4 && KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, half, 48);
KIBI_FIELD_AT(kibi_conv2d_s8_columns_task, last, 52);
#endif

/* Every instruction of the loops has four bytes, so that they can be entered in the middle. r0: the stream, r1: 8 bytes before
 * a group's columns, as its last load (`!`) leaves it for the next group, r4 and up: the sums, of both channels of each pixel in turn. A word of weights times the even
 * elements, then its second weights times the others. */
#define WEIGHTS                                      \
    "ldrd r10, r11, [r0], #8\n"                      \
    "sxtb16 r2, r10\n"                               \
    "sxtb16 r3, r11\n"

#define PRODUCTS(first, second)                      \
    "smlad " first ", r12, r10, " first "\n"         \
    "smlad " second ", r12, r11, " second "\n"       \
    "smlad " first ", lr, r2, " first "\n"           \
    "smlad " second ", lr, r3, " second "\n"

#define PIXEL(column, first, second)                 \
    "ldrd r12, lr, [r1, #" column "]\n"              \
    PRODUCTS(first, second)

/* Four input channels of the three columns; the last pixel's last column leads to the next group. */
#define GROUP2                                                                             \
    WEIGHTS PIXEL("8", "r4", "r5") PIXEL("16", "r6", "r7")                                 \
    WEIGHTS PIXEL("16", "r4", "r5") PIXEL("24", "r6", "r7")                                \
    WEIGHTS PIXEL("24", "r4", "r5") "ldrd r12, lr, [r1, #32]!\n" PRODUCTS("r6", "r7")

#define GROUP3                                                                             \
    WEIGHTS PIXEL("8", "r4", "r5") PIXEL("16", "r6", "r7") PIXEL("24", "r8", "r9")         \
    WEIGHTS PIXEL("16", "r4", "r5") PIXEL("24", "r6", "r7") PIXEL("32", "r8", "r9")        \
    WEIGHTS PIXEL("24", "r4", "r5") PIXEL("32", "r6", "r7")                                \
    "ldrd r12, lr, [r1, #40]!\n" PRODUCTS("r8", "r9")

/* Four pixels: of each column first the even elements, then the odd ones. */
#define TWO_PIXELS(columns, a, b, c, d)              \
    "ldrd r12, lr, [r1, #" columns "\n"              \
    "smlad " a ", r12, r2, " a "\n"                  \
    "smlad " b ", r12, r3, " b "\n"                  \
    "smlad " c ", lr, r2, " c "\n"                   \
    "smlad " d ", lr, r3, " d "\n"

#define COLUMN_OF_4(even, further_even, odd, further_odd)            \
    "ldrd r2, r3, [r0], #8\n"                                        \
    TWO_PIXELS(even, "r4", "r5", "r6", "r7")                         \
    TWO_PIXELS(further_even, "r8", "r9", "r10", "r11")               \
    "sxtb16 r2, r2\n"                                                \
    "sxtb16 r3, r3\n"                                                \
    TWO_PIXELS(odd, "r4", "r5", "r6", "r7")                          \
    TWO_PIXELS(further_odd, "r8", "r9", "r10", "r11")

#define GROUP4                                                       \
    COLUMN_OF_4("8]", "16]", "32]", "40]")                           \
    COLUMN_OF_4("12]", "20]", "36]", "44]")                          \
    COLUMN_OF_4("16]", "24]", "40]", "48]!")

/* The same two columns apart: of each kind of elements first the columns with an odd number, four, then the five others. */
#define GROUP4_TWO_APART                                             \
    COLUMN_OF_4("24]", "32]", "60]", "68]")                          \
    COLUMN_OF_4("8]", "16]", "44]", "52]")                           \
    COLUMN_OF_4("28]", "36]", "64]", "72]!")

/* Both channels of a pixel, from 256 times their sums, packed into the first one's register. */
#define REQUANTIZE_PIXEL(first, second)              \
    KIBI_SCALE(first, "r12", "r2")                   \
    KIBI_SCALE(second, "lr", "r3")                   \
    "bfi " first ", " second ", #8, #8\n"

#define CUT(packed) KIBI_THREE_WIDE_CUT(packed, "r5", "r7")

/* Multipliers to r12 and lr, powers to r2 and r3, the zero point to r1. */
#define CONSTANTS                                    \
    "ldrd r12, lr, [r0], #8\n"                       \
    "ldr r1, [sp, #28]\n"                            \
    KIBI_POWERS_OF_SUMS

/* A loop of two groups, of four pixels. */
#define LOOP(label, group)                           \
    ".p2align 2\n"                                   \
    label ":\n"                                      \
    ".rept 2\n"                                      \
    group                                            \
    ".endr\n"                                        \
    "ldr r12, [sp, #24]\n"                           \
    "cmp r1, r12\n"                                  \
    "bne.w " label "b\n"                             \
    "ldr pc, [sp, #44]\n"

/* What blocks of four pixels need whose windows are two columns apart. */
#if KIBI_CONV2D_COLUMNS_TWO_APART
#define ENTER_TWO_APART                              \
    "tst r3, #64\n"                                  \
    "it ne\n"                                        \
    "adrne.w r4, 34f + 1\n"
#define LOOP_TWO_APART LOOP("34", GROUP4_TWO_APART) /* the loop of such pixels */
#else
#define ENTER_TWO_APART
#define LOOP_TWO_APART
#endif

/* What blocks of four pixels need besides the rest; nothing where no layer has them. */
#if KIBI_CONV2D_COLUMNS_OF_4
#define ENTER_FOUR                                   \
    "tst r3, #16\n"                                  \
    "beq 1f\n"                                       \
    "adr.w r4, 35f + 1\n"                            \
    "adr.w r6, 36f + 1\n"                            \
    ENTER_TWO_APART                                  \
    "tst r2, #1\n"                                   \
    "beq 2f\n"                                       \
    /* 276 bytes: one GROUP4, three times 3 instructions for weights and 4 * 5 for pixels */ \
    "add r4, r4, #276\n"                             \
    "b 2f\n"                                         \
    "1:\n" /* fewer pixels */
#define LOOP_OF_4                                    \
    LOOP_TWO_APART                                   \
    LOOP("35", GROUP4) /* the loop of four pixels */ \
    "36:\n" /* scale four pixels */                  \
    CONSTANTS                                        \
    REQUANTIZE_PIXEL("r10", "r11")
#define CUT_FOURTH CUT("r10")
#define STORE_FOURTH "strh r10, [r1, r5]\n"
#else
#define ENTER_FOUR
#define LOOP_OF_4
#define CUT_FOURTH
#define STORE_FOURTH
#endif

/* Two blocks side by side: the first half of the first block's sums, all of the second block's, then the rest of the first block's. So
 * each half of a pair's weights is read twice in a row, and comes from the cache of a chip that has one the second time. */
#if KIBI_CONV2D_COLUMNS_OF_4 && KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE
#define FRAME "88"
#define ENTER_TWO                                    \
    "tst r3, #32\n"                                  \
    "beq 4f\n"                                       \
    "adr.w r5, 14f + 1\n"
#define PAIR_OF_TWO                                  \
    "14:\n" /* a pair of two blocks: the first half of the first one */ \
    "ldr r4, [sp, #52]\n"                            \
    "str r0, [sp, #32]\n"                            \
    "adr.w r1, 61f + 1\n"                            \
    "ldr r2, [r4, #12]\n"                            \
    "ldr r3, [r4, #48]\n"                            \
    "str r1, [sp, #44]\n"                            \
    "b 16f\n"                                        \
    "61:\n" /* keep its sums; the second block, from the pair's first constants on */ \
    "add r12, sp, #56\n"                             \
    "stm r12, {r4, r5, r6, r7, r8, r9, r10, r11}\n"  \
    "ldr r6, [sp, #32]\n"                            \
    "ldr r7, [sp, #52]\n"                            \
    "ldr r4, [sp, #4]\n"                             \
    "ldr r5, [sp]\n"                                 \
    "ldr r2, [r7, #16]\n"                            \
    "ldr r3, [r7, #52]\n"                            \
    "str r0, [sp, #32]\n"                            \
    "mov r0, r6\n"                                   \
    "adr.w r1, 62f + 1\n"                            \
    "adr.w r6, 36f + 1\n"                            \
    "add r5, r5, r4, lsl #2\n"                       \
    "str r5, [sp]\n"                                 \
    "strd r1, r6, [sp, #40]\n"                       \
    "b 16f\n"                                        \
    "62:\n" /* the second half of the first block */  \
    "ldr r7, [sp, #52]\n"                            \
    "ldr r0, [sp, #32]\n"                            \
    "ldr r4, [sp, #4]\n"                             \
    "ldr r2, [r7, #48]\n"                            \
    "ldr r3, [r7, #16]\n"                            \
    "subs r1, r1, #2\n"                              \
    "sub r1, r1, r4, lsl #2\n"                       \
    "str r1, [sp]\n"                                 \
    "adr.w r1, 14b + 1\n"                            \
    "str r1, [sp, #40]\n"                            \
    "strd r2, r3, [sp, #20]\n"                       \
    "add r12, sp, #56\n"                             \
    "ldm r12, {r4, r5, r6, r7, r8, r9, r10, r11}\n"  \
    "b 13f\n"                                        \
    "16:\n" /* from biases, between other columns */  \
    "strd r2, r3, [sp, #20]\n"
#else
#define FRAME "56"
#define ENTER_TWO
#define PAIR_OF_TWO
#endif

/* The same for passes of blocks of four pixels. */
#if KIBI_CONV2D_COLUMNS_OF_4 && KIBI_CONV2D_COLUMNS_IN_PASSES
#define ENTER_KEPT_OF_4                              \
    "tst r3, #16\n"                                  \
    "beq 7f\n"                                       \
    "tst r3, #2\n"                                   \
    "beq 6f\n"                                       \
    "adr.w r5, 37f + 1\n"                            \
    "adr.w r6, 39f + 1\n"                            \
    "6:\n" /* r5: how a pair begins */               \
    "tst r3, #1\n"                                   \
    "beq 7f\n"                                       \
    "adr.w r5, 38f + 1\n"                            \
    "7:\n" /* the same, from earlier sums */
#define KEPT_OF_4                                    \
    "37:\n" /* as label 11, of four pixels */        \
    "ldr r12, [sp, #32]\n"                           \
    "add r12, r12, #32\n"                            \
    "str r12, [sp, #32]\n"                           \
    "b 10f\n"                                        \
    "38:\n" /* as label 12 */                        \
    "ldr r12, [sp, #32]\n"                           \
    "ldm r12!, {r4, r5, r6, r7, r8, r9, r10, r11}\n" \
    "str r12, [sp, #32]\n"                           \
    "b 13f\n"                                        \
    "39:\n" /* as label 60 */                        \
    "ldr r12, [sp, #32]\n"                           \
    "stmdb r12, {r4, r5, r6, r7, r8, r9, r10, r11}\n" \
    "ldr r1, [sp]\n"                                 \
    "ldr r12, [sp, #16]\n"                           \
    "add r1, r1, #2\n"                               \
    "b 72f\n"
#else
#define ENTER_KEPT_OF_4
#define KEPT_OF_4
#endif

/* What passes need besides the rest, of two and three pixels: how a pair begins before its sums are kept, from those of earlier rows, or
 * from biases; and how they are kept. */
#if KIBI_CONV2D_COLUMNS_IN_PASSES
#define ENTER_PASSES                                 \
    "tst r3, #3\n"                                   \
    "beq 9f\n"                                       \
    "tst r3, #2\n"                                   \
    "beq 3f\n"                                       \
    "adr.w r5, 11f + 1\n"                            \
    "adr.w r6, 60f + 1\n"                            \
    "3:\n" /* r5: how a pair begins */               \
    "tst r3, #1\n"                                   \
    "beq 8f\n"                                       \
    "adr.w r5, 12f + 1\n"                            \
    "8:\n" /* the same, from earlier sums */         \
    ENTER_KEPT_OF_4                                  \
    "9:\n" /* the same, where all is at once */
#define PAIRS_OF_PASSES                              \
    "11:\n" /* a pair whose sums are kept for later rows */\
    "ldr r12, [sp, #32]\n"                           \
    /* Past the six sums, which are stored downwards from there after the loop, as label 12 leaves it, too. */\
    "add r12, r12, #24\n"                            \
    "str r12, [sp, #32]\n"                           \
    "b 10f\n"                                        \
    "12:\n" /* a pair from sums of earlier rows */   \
    "ldr r12, [sp, #32]\n"                           \
    "ldm r12!, {r4, r5, r6, r7, r8, r9}\n"           \
    "str r12, [sp, #32]\n"                           \
    "b 13f\n"
#define KEEP_SUMS                                    \
    "60:\n" /* keep the sums */                      \
    "ldr r12, [sp, #32]\n"                           \
    "stmdb r12, {r4, r5, r6, r7, r8, r9}\n"          \
    "ldr r1, [sp]\n"                                 \
    "ldr r12, [sp, #16]\n"                           \
    /* No output is written, but the place of one moves on: it tells when the pairs are done. */\
    "add r1, r1, #2\n"                               \
    "b 72f\n"
#else
#define ENTER_PASSES
#define PAIRS_OF_PASSES ""
#define KEEP_SUMS
#endif

/* Registers and stack; of two and three pixels, the sums of the others mean nothing:
 *   r0        the stream; before: task
 *   r1        8 bytes before a group's columns; then exponents; while outputs are stored: the output
 *   r2, r3    second weights of both channels, of four pixels weights; then a multiplier and rounding
 *   r4 … r11  the sums, of both channels of each pixel in turn; of two and three pixels, r10 and r11 have weights
 *   r12, lr   elements; then a multiplier and an exponent; r12: else free
 *   sp + 0    output
 *   sp + 4    from there to the second pixel's: distance; to the third's, and the fourth's; of fewer pixels, to the last one's
 *   sp + 16   end
 *   sp + 20   columns; of two blocks, where the sums go on from
 *   sp + 24   columns_end; of two blocks, where they pause or end
 *   sp + 28   zero_point
 *   sp + 32   the next sums; of two blocks, where the constants of the pair begin, then those of its second half
 *   sp + 36   where the loop is entered
 *   sp + 40   how a pair begins
 *   sp + 44   what follows the loop
 *   sp + 48   what follows scaling
 *   sp + 52   task
 *   sp + 56   of two blocks: the first one's sums
 *   sp + 88   r4 … r11, lr of the caller; 32 bytes lower where no layer has two blocks
 * Stack: 124 bytes; 92 where no layer has two blocks. */
KIBI_NAKED const int32_t *kibi_conv2d_s8_columns_block(KIBI_IN_REGISTER const kibi_conv2d_s8_columns_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #" FRAME "\n"
        "str r0, [sp, #52]\n"
        "ldm r0!, {r4, r5, r8, r9, r10, r11, r12}\n"
        "ldm r0, {r0, r2, r3}\n"
        "mov r6, r5\n"
        "tst r3, #24\n" /* more than two pixels */
        "it ne\n"
        "addne r6, r6, r5\n"
        "mov r7, r6\n"
        "tst r3, #16\n"
        "it ne\n"
        "addne r7, r7, r5\n"
        "stm sp, {r4, r5, r6, r7, r8, r9, r10, r11, r12}\n"
        "adr.w r4, 20f + 1\n"
        "adr.w r6, 50f + 1\n"
        ENTER_FOUR
        "tst r3, #8\n"
        "beq 2f\n"
        /* The loops of three and four pixels go by two groups; an odd number enters them at the second one. */
        "adr.w r4, 30f + 1\n"
        "adr.w r6, 31f + 1\n"
        "tst r2, #1\n"
        "beq 2f\n"
        /* 216 bytes: one GROUP3, three times 3 instructions for weights and 3 * 5 for pixels */
        "add r4, r4, #216\n"
        "2:\n" /* r4: the loop, r6: what follows it */
        "adr.w r5, 10f + 1\n"
        ENTER_PASSES
        ENTER_TWO
        "4:\n" /* the same, of two blocks */
        "adr.w r7, 71f + 1\n"
        "tst r3, #4\n"
        "beq 5f\n"
        "adr.w r7, 70f + 1\n"
        "5:\n" /* r7: what follows scaling */
        /* Addresses that are loaded to pc have the lowest bit set: Thumb. */
        "add r12, sp, #36\n"
        "stm r12, {r4, r5, r6, r7}\n"
        "bx r5\n"
        PAIRS_OF_PASSES);
    /* Two pixels. */
    __asm__ volatile(
        ".p2align 2\n"
        "20:\n" /* the loop of two pixels */
        GROUP2
        "ldr r12, [sp, #24]\n"
        "cmp r1, r12\n"
        "bne.w 20b\n"
        "ldr pc, [sp, #44]\n"
        KEEP_SUMS
        "50:\n" /* scale two pixels */
        CONSTANTS
        "b 51f\n");
    /* Three pixels. */
    __asm__ volatile(
        ".p2align 2\n"
        "30:\n" /* the loop of three pixels */
        ".rept 2\n"
        GROUP3
        ".endr\n"
        "ldr r12, [sp, #24]\n"
        "cmp r1, r12\n"
        "bne.w 30b\n"
        "ldr pc, [sp, #44]\n"
        "31:\n" /* scale three pixels */
        CONSTANTS
        "b 32f\n");
    /* A pair of channels begins; what four pixels need is in one piece, so that a cache of 1,024 bytes holds it. */
    __asm__ volatile(
        KEPT_OF_4
        PAIR_OF_TWO
        "10:\n" /* a pair from biases, the same for all pixels */
        "ldrd r4, r5, [r0], #8\n"
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r4\n"
        "mov r11, r5\n"
        "13:\n" /* a pair's columns */
        "ldr r1, [sp, #20]\n"
        "ldr pc, [sp, #36]\n");
    /* Four pixels. */
    __asm__ volatile("" LOOP_OF_4);
    __asm__ volatile(
        "32:\n" /* scale the first three pixels */
        REQUANTIZE_PIXEL("r8", "r9"));
    __asm__ volatile(
        "51:\n" /* scale the first two pixels */
        REQUANTIZE_PIXEL("r4", "r5")
        REQUANTIZE_PIXEL("r6", "r7")
        "ldr pc, [sp, #48]\n"
        "70:\n" /* cut to the activation's range */
        "ldr r12, [sp, #52]\n"
        "ldrd r5, r7, [r12, #40]\n"
        CUT("r4")
        CUT("r6")
        CUT("r8")
        CUT_FOURTH
        /* Of two pixels, the second is written over what is stored as the third; and so on. */
        "71:\n" /* store */
        "ldm sp, {r1, r2, r3, r5, r12}\n"
        STORE_FOURTH
        "strh r8, [r1, r3]\n"
        "strh r6, [r1, r2]\n"
        "strh r4, [r1], #2\n"
        "72:\n" /* the next pair, if there is one */
        "str r1, [sp]\n"
        "cmp r1, r12\n"
        "it ne\n"
        "ldrne pc, [sp, #40]\n"
        "add sp, sp, #" FRAME "\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
