/* Blocks of two channels of a convolution, Armv7E-M: what they are made from, and the parts that all sizes share. */
#ifndef KIBI_CONV2D_S8_PIXELS_H
#define KIBI_CONV2D_S8_PIXELS_H

#include "kibi_dsp.h"
#include "kibi_requantize.h"

/* A part that a library leaves out where no layer has scratch for several blocks. */
#ifndef KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
#define KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE 1
#endif
/* Likewise where the outputs of every layer, or of none, are rounded once, and where the activation's range is that of int8 in all of
 * them. */
#ifndef KIBI_CONV2D_BLOCKS_ROUNDED_ONCE
#define KIBI_CONV2D_BLOCKS_ROUNDED_ONCE 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_ROUNDED_TWICE
#define KIBI_CONV2D_BLOCKS_ROUNDED_TWICE 1
#endif
#ifndef KIBI_CONV2D_BLOCKS_OF_CLAMPS
#define KIBI_CONV2D_BLOCKS_OF_CLAMPS 1
#endif

/* The windows of neighbouring pixels, of one block or of several, and the channels to compute of them; kernels in assembly know
 * where each field is. So many channels are computed of all blocks in a pass that their constants stay in a cache; of one block, all
 * are. The kernel changes `output`, `stream` and `pass_bytes`. */
typedef struct {
    int32_t zero_point;         /* the output's; where outputs are rounded once, with a fraction of KIBI_CONV2D_FRACTION_BITS */
    int32_t output_channels;    /* bytes from the first pixel's output to the second pixel's, and so on */
    int8_t *output;             /* of the first block's first pixel */
    int32_t groups;
    const int16_t *windows;     /* [groups of four elements][2][pixels][2]: of each group both even elements of all pixels, then of
                                   both odd ones 256 * the element - the one before + 127 */
    const int16_t *windows_end; /* of the first block */
    int32_t rounds_once;        /* as in kibi_conv2d_s8_blocks_params */
    const int8_t *end;          /* where that pixel's first pass ends: at least one pair of channels */
    int32_t clamps;             /* 0: the activation's range is that of int8 */
    uint32_t low;               /* the activation's range, in each byte */
    uint32_t high;
    const int32_t *stream;      /* as in kibi_conv2d_s8_blocks_params */
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
    int32_t pass_bytes;         /* outputs of a pixel in a pass */
    const int16_t *all_end;     /* where the last block's windows end */
    const int8_t *last;         /* where the first pixel's last channel ends */
    int32_t next_bytes;         /* from a block's output to the next one's */
#endif
} kibi_conv2d_s8_pixels;

/* Where the assembly reads the fields; the first twelve are copied. */
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, zero_point, 0);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, output_channels, 4);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, output, 8);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, groups, 12);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, windows, 16);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, windows_end, 20);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, rounds_once, 24);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, end, 28);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, clamps, 32);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, low, 36);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, high, 40);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, stream, 44);
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, pass_bytes, 48);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, all_end, 52);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, last, 56);
KIBI_FIELD_AT(kibi_conv2d_s8_pixels, next_bytes, 60);
#endif

/* Every instruction of a step has four bytes, so that loops can be entered at any of their steps. r0: weights, r1: windows,
 * r4 and up: the sums, of both channels of each pixel in turn. A word of weights times the even elements, then its second
 * weights times the others. */
#define KIBI_WORDS(first, second, free, too) "ldrd " first ", " second ", [r0], #8\n"

/* The same of weights w of int4: a word has w + 8 for the first channel in the lower halves of its bytes, for the second one in the
 * upper halves. */
#define KIBI_INT4_WORDS(first, second, free, too)    \
    "ldr " free ", [r0], #4\n"                       \
    "mov " too ", #0x08080808\n"                     \
    "and " first ", " free ", #0x0F0F0F0F\n"         \
    "lsr " free ", " free ", #4\n"                   \
    "and " second ", " free ", #0x0F0F0F0F\n"        \
    "ssub16 " first ", " first ", " too "\n"         \
    "ssub16 " second ", " second ", " too "\n"

#define KIBI_BOTH(a, b, elements, v, w)              \
    "smlad " a ", " elements ", " v ", " a "\n"      \
    "smlad " b ", " elements ", " w ", " b "\n"

/* The second weights of both words, in place of the words. */
#define KIBI_LOWER(v, w) "sxtb16 " v ", " v "\n sxtb16 " w ", " w "\n"

#define KIBI_FOUR_WORDS "ldm r1!, {r2, r3, r12, lr}\n"

/* A group of two pixels. */
#define KIBI_GROUP_OF_2(v, w)                                                                        \
    KIBI_FOUR_WORDS KIBI_BOTH("r4", "r5", "r2", v, w) KIBI_BOTH("r6", "r7", "r3", v, w)              \
    KIBI_LOWER(v, w) KIBI_BOTH("r4", "r5", "r12", v, w) KIBI_BOTH("r6", "r7", "lr", v, w)

/* Two groups of three pixels. The first one's last load brings the second's first two words; who begins with the second group
 * has loaded these before. */
#define KIBI_OF_3(a, b, elements) KIBI_BOTH(a, b, elements, "r10", "r11")
#define KIBI_FIRST_OF_3(words)                                                                       \
    words("r10", "r11", "r12", "lr")                                                                 \
    KIBI_FOUR_WORDS KIBI_OF_3("r4", "r5", "r2") KIBI_OF_3("r6", "r7", "r3") KIBI_OF_3("r8", "r9", "r12") \
    KIBI_LOWER("r10", "r11") KIBI_OF_3("r4", "r5", "lr")                                             \
    KIBI_FOUR_WORDS KIBI_OF_3("r6", "r7", "r2") KIBI_OF_3("r8", "r9", "r3")
#define KIBI_SECOND_OF_3(words)                                                                      \
    words("r10", "r11", "r2", "r3") KIBI_OF_3("r4", "r5", "r12") KIBI_OF_3("r6", "r7", "lr")         \
    KIBI_FOUR_WORDS KIBI_OF_3("r8", "r9", "r2")                                                      \
    KIBI_LOWER("r10", "r11") KIBI_OF_3("r4", "r5", "r3") KIBI_OF_3("r6", "r7", "r12") KIBI_OF_3("r8", "r9", "lr")

/* A group of four pixels, in the same registers: first the words times the even elements of all, then their second weights times the
 * others. */
#define KIBI_TWO_OF_4(a, b, c, d)           \
    "ldrd r12, lr, [r1], #8\n"              \
    KIBI_BOTH(a, b, "r12", "r2", "r3") KIBI_BOTH(c, d, "lr", "r2", "r3")
#define KIBI_ALL_OF_4 KIBI_TWO_OF_4("r4", "r5", "r6", "r7") KIBI_TWO_OF_4("r8", "r9", "r10", "r11")

/* The first half of a block's first group, with what all pixels' sums start from in r4 and r5. */
#define KIBI_FROM_START(a, b, elements)               \
    "smlad " a ", " elements ", r2, r4\n"             \
    "smlad " b ", " elements ", r3, r5\n"
#define KIBI_FIRST_OF_4                               \
    "ldrd r12, lr, [r1], #8\n"                        \
    "ldrd r10, r11, [r1], #8\n"                       \
    KIBI_FROM_START("r6", "r7", "lr")                 \
    KIBI_FROM_START("r8", "r9", "r10")                \
    "smlad r10, r11, r2, r4\n"                        \
    "smlad r11, r11, r3, r5\n"                        \
    KIBI_FROM_START("r4", "r5", "r12")

/* Registers and stack of all kernels:
 *   r0         two channels' constants, then the next two's: what both sums start from, the weights, both multipliers; before: task
 *   r1         the windows; then zero_point
 *   r2, r3     weights of both channels; then powers; while outputs are stored: output_channels and output
 *   r4 and up  the sums, of both channels of each pixel in turn
 *   r10, r11   weights of both channels, or sums
 *   r12, lr    elements; then multipliers; then low and high; then end
 *   sp + 0     zero_point, output_channels, output
 *   sp + 12    where the loop is entered
 *   sp + 16    windows, windows_end
 *   sp + 24    where sums become outputs: label 12, or 13 where they are rounded once
 *   sp + 28    end
 *   sp + 32    what follows: label 15, or 14 with clamps
 *   sp + 36    low, high
 *   sp + 44    stream; with blocks side by side the address of pass_bytes
 *   sp + 48    r4 … r11, lr of the caller
 * Stack: 84 bytes. */

/* Where the loop of four steps is entered, from the steps in r4 that its first iteration leaves out: what is missing from the groups to
 * a multiple of four. `first`: the label for the first step; `two_steps`: their bytes. */
#define KIBI_ENTER_ANY_STEP(first, two_steps)                              \
    "mov r1, #" two_steps " / 2\n"                                         \
    "mul r4, r4, r1\n"                                                     \
    "adr.w r1, " first "\n"                                                \
    "add r4, r4, r1\n"

/* The same where the second step of two takes over what the first one loaded: it is entered by KIBI_ENTER_SECONDS. */
#define KIBI_ENTER_SECOND_STEPS(two_steps)                                 \
    "lsrs r4, r4, #1\n" /* carry: an odd number */                         \
    "adr.w r1, 11f\n"                                                      \
    "mov r2, #" two_steps "\n"                                             \
    "itt cs\n"                                                             \
    "adrcs.w r1, 16f\n"                                                    \
    "movcs r2, #8\n"                                                       \
    "mla r4, r4, r2, r1\n"

/* For the first and the second pair of steps: loads what the second step needs, and goes to it. */
#define KIBI_ENTER_SECONDS(load, two_steps) ".p2align 2\n 16:\n" load "b.w 17b - " two_steps "\n" load "b.w 17b\n"

/* The ways after the loop, where there are several: the addresses to which the kernels go. */
#if KIBI_CONV2D_BLOCKS_ROUNDED_ONCE && KIBI_CONV2D_BLOCKS_ROUNDED_TWICE
#define KIBI_WAY_TO_FINISH                                                 \
    "adr.w r1, 12f\n"                                                      \
    "cbz r7, 1f\n"                                                         \
    "adr.w r1, 13f\n"                                                      \
    "1:\n" /* where sums become outputs */                                \
    "orr r1, r1, #1\n"                                                     \
    "str r1, [sp, #24]\n"
#define KIBI_TO_FINISH "ldr pc, [sp, #24]\n"
#else
#define KIBI_WAY_TO_FINISH
#define KIBI_TO_FINISH
#endif
#if KIBI_CONV2D_BLOCKS_OF_CLAMPS
#define KIBI_WAY_TO_STORE                                                  \
    "adr.w r1, 15f\n"                                                      \
    "cmp r9, #0\n"                                                         \
    "beq 2f\n"                                                             \
    "adr.w r1, 14f\n"                                                      \
    "2:\n" /* what follows */                                              \
    "orr r1, r1, #1\n"                                                     \
    "str r1, [sp, #32]\n"
#define KIBI_TO_STORE "ldr pc, [sp, #32]\n"
#define KIBI_OF_CLAMPS(text) text
#else
#define KIBI_WAY_TO_STORE
#define KIBI_TO_STORE
#define KIBI_OF_CLAMPS(text) ""
#endif
#if KIBI_CONV2D_BLOCKS_ROUNDED_ONCE
#define KIBI_OF_ONCE(text) text
#else
#define KIBI_OF_ONCE(text) ""
#endif
#if KIBI_CONV2D_BLOCKS_ROUNDED_TWICE || !KIBI_CONV2D_BLOCKS_ROUNDED_ONCE
#define KIBI_OF_TWICE(text) text
#else
#define KIBI_OF_TWICE(text) ""
#endif
#define KIBI_PIXELS_WAYS KIBI_WAY_TO_FINISH KIBI_WAY_TO_STORE

/* Copies the task to the stack, where some fields become addresses. */
#define KIBI_PIXELS_BEGIN(enter)                                           \
    ".syntax unified\n"                                                    \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                        \
    "sub sp, sp, #48\n"                                                    \
    "ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}\n"       \
    "stm sp, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}\n"        \
    KIBI_PIXELS_KEEP_TASK                                                  \
    "mov r0, r12\n"                                                        \
    "rsb r4, r4, #0\n"                                                     \
    "and r4, r4, #3\n"                                                     \
    enter                                                                  \
    /* Addresses that are loaded to pc have the lowest bit set: Thumb. */  \
    "orr r4, r4, #1\n"                                                     \
    "str r4, [sp, #12]\n"                                                  \
    KIBI_PIXELS_WAYS                                                       \
    "10:\n" /* the next two channels */

/* What all pixels' sums start from to r4 and r5, windows to r1, and where the loop is entered to lr. Of four pixels, lr is not free. */
#define KIBI_PIXELS_PAIR "ldrd lr, r1, [sp, #12]\n ldrd r4, r5, [r0], #8\n"
#define KIBI_PIXELS_PAIR_OF_4 "ldr r1, [sp, #16]\n ldrd r4, r5, [r0], #8\n"

/* Enters the loop; between this and KIBI_PIXELS_LOOP_END four steps. */
#define KIBI_PIXELS_LOOP                                                   \
    "bx lr\n"                                                              \
    ".p2align 2\n"                                                         \
    "11:\n" /* four steps an iteration */
#define KIBI_PIXELS_LOOP_OF_4                                              \
    "ldr pc, [sp, #12]\n"                                                  \
    ".p2align 2\n"                                                         \
    "11:\n" /* four steps an iteration */

/* Ends the loop, then takes multipliers or factors to r12 and lr, the zero point to r1, the distance to r2, the output to r3. */
#define KIBI_PIXELS_LOOP_END                                               \
    "ldr r12, [sp, #20]\n" /* windows_end */                               \
    "cmp r1, r12\n"                                                        \
    "bne 11b\n"                                                            \
    "ldrd r12, lr, [r0], #8\n"                                             \
    "ldm sp, {r1, r2, r3}\n"                                               \
    KIBI_TO_FINISH

/* The high half of sum * factor, and the zero point; the fraction is cut off. */
#define KIBI_SCALE_ONCE(sum, factor)                                       \
    "smmla " sum ", " sum ", " factor ", r1\n"                             \
    "ssat " sum ", #8, " sum ", asr #11\n"

/* Both channels of a pixel, packed into the first one's register. */
#define KIBI_FINISH_PIXEL(first, second)                                   \
    KIBI_SCALE(first, "r12", "r2") KIBI_SCALE(second, "lr", "r3")          \
    "bfi " first ", " second ", #8, #8\n"
#define KIBI_FINISH_PIXEL_ONCE(first, second)                              \
    KIBI_SCALE_ONCE(first, "r12") KIBI_SCALE_ONCE(second, "lr")            \
    "bfi " first ", " second ", #8, #8\n"

/* Powers were where output_channels and output are to be. */
#define KIBI_PIXELS_AFTER_TWICE "ldrd r2, r3, [sp, #4]\n"

/* The ways after the loop: numbers of the labels are those that KIBI_PIXELS_WAYS knows. */
#define KIBI_PIXELS_FINISH ".p2align 2\n 12:\n" KIBI_POWERS_OF_SUMS
#if !KIBI_CONV2D_BLOCKS_ROUNDED_TWICE
#define KIBI_PIXELS_FINISH_ONCE ".p2align 2\n 13:\n"
#elif KIBI_CONV2D_BLOCKS_OF_CLAMPS
#define KIBI_PIXELS_FINISH_ONCE "ldr pc, [sp, #32]\n .p2align 2\n 13:\n"
#else
#define KIBI_PIXELS_FINISH_ONCE "b 15f\n .p2align 2\n 13:\n"
#endif
#define KIBI_PIXELS_CLAMP KIBI_TO_STORE ".p2align 2\n 14:\n ldrd r12, lr, [sp, #36]\n"

/* Cuts packed channels to low … high, which r12 and lr hold in each byte. */
#define KIBI_CUT_PIXEL(packed)                              \
    "ssub8 r1, " packed ", r12\n"                           \
    "sel " packed ", " packed ", r12\n"                     \
    "ssub8 r1, lr, " packed "\n"                            \
    "sel " packed ", " packed ", lr\n"

/* The end to r12. */
#define KIBI_PIXELS_STORE ".p2align 2\n 15:\n ldr r12, [sp, #28]\n"

/* The same pass of the next block, or the next pass from the first one on. r3 is where a block's pass ended. */
#if KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE
#define KIBI_PIXELS_KEEP_TASK "str r0, [sp, #44]\n"
#define KIBI_PIXELS_NEXT_BLOCK                              \
    "ldr r9, [sp, #44]\n"                                   \
    "ldrd r6, r5, [sp, #16]\n" /* windows, windows_end */   \
    "ldm r9, {r4, r7, r8, r12}\n" /* pass_bytes, all_end, last, next_bytes */ \
    "cmp r5, r7\n"                                          \
    "beq 20f\n"                                             \
    "ldr r0, [r9, #-4]\n" /* stream, again */               \
    "rsb r6, r6, r5, lsl #1\n"                              \
    "add r12, r12, r3\n"                                    \
    "19:\n" /* r5, r6: the block's windows; r12: where its pass ends */ \
    "subs r3, r12, r4\n"                                    \
    "str r3, [sp, #8]\n" /* output */                       \
    "str r12, [sp, #28]\n" /* end */                        \
    "strd r5, r6, [sp, #16]\n"                              \
    "b.w 10b\n"                                             \
    "20:\n" /* the last block: the next pass, if there is one */ \
    "ldr r12, [r9, #-40]\n" /* output, of the first block */ \
    "add r12, r12, r4\n"                                    \
    "subs r3, r8, r12\n"                                    \
    "bls 21f\n"                                             \
    "str r12, [r9, #-40]\n"                                 \
    "str r0, [r9, #-4]\n"                                   \
    "ldrd r5, r6, [r9, #-32]\n" /* of the first block */    \
    "cmp r3, r4\n"                                          \
    "it lo\n"                                               \
    "movlo r4, r3\n"                                        \
    "str r4, [r9]\n"                                        \
    "add r12, r12, r4\n"                                    \
    "b 19b\n"                                               \
    "21:\n" /* the end */                                   \
    "add sp, sp, #48\n"                                     \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
#else
#define KIBI_PIXELS_KEEP_TASK
#define KIBI_PIXELS_NEXT_BLOCK "add sp, sp, #48\n pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
#endif

/* Stores the first pixel, and goes on with the next two channels up to `end`. */
#define KIBI_PIXELS_END                                     \
    "strh r4, [r3], #2\n"                                   \
    "str r3, [sp, #8]\n"                                    \
    "cmp r3, r12\n"                                         \
    "bne.w 10b\n"                                           \
    KIBI_PIXELS_NEXT_BLOCK

/* The bodies of the kernels: the bytes of two steps, and what loads two channels' words of weights. */
#define KIBI_PIXELS2(enter, steps, seconds)                                                         \
    __asm__ volatile(                                                                           \
    KIBI_PIXELS_BEGIN(enter) KIBI_PIXELS_PAIR                                                   \
    "mov r6, r4\n"                                                                              \
    "mov r7, r5\n"                                                                              \
    KIBI_PIXELS_LOOP                                                                            \
    steps                                                                                       \
    KIBI_PIXELS_LOOP_END);                                                                      \
    __asm__ volatile(                                                                           \
    KIBI_OF_TWICE(KIBI_PIXELS_FINISH                                                       \
    KIBI_FINISH_PIXEL("r4", "r5")                                                               \
    KIBI_FINISH_PIXEL("r6", "r7") KIBI_PIXELS_AFTER_TWICE)                                                              \
    KIBI_OF_ONCE(KIBI_PIXELS_FINISH_ONCE                                                        \
    KIBI_FINISH_PIXEL_ONCE("r4", "r5")                                                       \
    KIBI_FINISH_PIXEL_ONCE("r6", "r7"))                                                      \
    KIBI_OF_CLAMPS(KIBI_PIXELS_CLAMP                                                            \
    KIBI_CUT_PIXEL("r4")                                                                        \
    KIBI_CUT_PIXEL("r6"))                                                                       \
    KIBI_PIXELS_STORE                                                                           \
    "strh r6, [r3, r2]\n"                                                                       \
    KIBI_PIXELS_END                                                 \
    seconds)

/* Of int8, the words of two groups are loaded at once. */
#define KIBI_PIXELS2_OF_INT8(two_steps)                                                         \
    KIBI_PIXELS2(KIBI_ENTER_SECOND_STEPS(two_steps),                                            \
                 ".rept 2\n ldm r0!, {r8, r9, r10, r11}\n" KIBI_GROUP_OF_2("r8", "r9")          \
                 "17:\n" KIBI_GROUP_OF_2("r10", "r11") ".endr\n",                               \
                 KIBI_ENTER_SECONDS("ldrd r10, r11, [r0], #8\n", two_steps))
#define KIBI_PIXELS2_OF_INT4(two_steps)                                                         \
    KIBI_PIXELS2(KIBI_ENTER_ANY_STEP("11f", two_steps),                                                \
                 ".rept 4\n" KIBI_INT4_WORDS("r10", "r11", "r12", "lr") KIBI_GROUP_OF_2("r10", "r11") ".endr\n", "")

#define KIBI_PIXELS3(two_steps, words)                                                         \
    __asm__ volatile(                                                                           \
    KIBI_PIXELS_BEGIN(KIBI_ENTER_SECOND_STEPS(two_steps)) KIBI_PIXELS_PAIR                      \
    "mov r6, r4\n"                                                                              \
    "mov r7, r5\n"                                                                              \
    "mov r8, r4\n"                                                                              \
    "mov r9, r5\n"                                                                              \
    KIBI_PIXELS_LOOP                                                                            \
    ".rept 2\n" KIBI_FIRST_OF_3(words) "17:\n" KIBI_SECOND_OF_3(words) ".endr\n"                \
    KIBI_PIXELS_LOOP_END);                                                                      \
    __asm__ volatile(                                                                           \
    KIBI_OF_TWICE(KIBI_PIXELS_FINISH                                                       \
    KIBI_FINISH_PIXEL("r4", "r5")                                                               \
    KIBI_FINISH_PIXEL("r6", "r7")                                                               \
    KIBI_FINISH_PIXEL("r8", "r9") KIBI_PIXELS_AFTER_TWICE)                                                              \
    KIBI_OF_ONCE(KIBI_PIXELS_FINISH_ONCE                                                        \
    KIBI_FINISH_PIXEL_ONCE("r4", "r5")                                                       \
    KIBI_FINISH_PIXEL_ONCE("r6", "r7")                                                       \
    KIBI_FINISH_PIXEL_ONCE("r8", "r9"))                                                      \
    KIBI_OF_CLAMPS(KIBI_PIXELS_CLAMP                                                            \
    KIBI_CUT_PIXEL("r4")                                                                        \
    KIBI_CUT_PIXEL("r6")                                                                        \
    KIBI_CUT_PIXEL("r8"))                                                                       \
    KIBI_PIXELS_STORE                                                                           \
    "strh r6, [r3, r2]\n"                                                                       \
    "strh r8, [r3, r2, lsl #1]\n"                                                               \
    KIBI_PIXELS_END                                \
    KIBI_ENTER_SECONDS("ldrd r12, lr, [r1], #8\n", two_steps))

#define KIBI_PIXELS4(two_steps, words)                                                         \
    __asm__ volatile(                                                                           \
    KIBI_PIXELS_BEGIN(KIBI_ENTER_ANY_STEP("18f", two_steps)) KIBI_PIXELS_PAIR_OF_4              \
    words("r2", "r3", "r12", "lr") KIBI_FIRST_OF_4                                              \
    KIBI_PIXELS_LOOP_OF_4                                                                       \
    ".rept 4\n"                                                                                 \
    words("r2", "r3", "r12", "lr") KIBI_ALL_OF_4                                                \
    "18:\n" KIBI_LOWER("r2", "r3") KIBI_ALL_OF_4                                                \
    ".endr\n"                                                                                   \
    KIBI_PIXELS_LOOP_END);                                                                      \
    __asm__ volatile(                                                                           \
    KIBI_OF_TWICE(KIBI_PIXELS_FINISH                                                       \
    KIBI_FINISH_PIXEL("r4", "r5")                                                               \
    KIBI_FINISH_PIXEL("r6", "r7")                                                               \
    KIBI_FINISH_PIXEL("r8", "r9")                                                               \
    KIBI_FINISH_PIXEL("r10", "r11") KIBI_PIXELS_AFTER_TWICE)                                                            \
    KIBI_OF_ONCE(KIBI_PIXELS_FINISH_ONCE                                                        \
    KIBI_FINISH_PIXEL_ONCE("r4", "r5")                                                       \
    KIBI_FINISH_PIXEL_ONCE("r6", "r7")                                                       \
    KIBI_FINISH_PIXEL_ONCE("r8", "r9")                                                       \
    KIBI_FINISH_PIXEL_ONCE("r10", "r11"))                                                    \
    KIBI_OF_CLAMPS(KIBI_PIXELS_CLAMP                                                            \
    KIBI_CUT_PIXEL("r4")                                                                        \
    KIBI_CUT_PIXEL("r6")                                                                        \
    KIBI_CUT_PIXEL("r8")                                                                        \
    KIBI_CUT_PIXEL("r10"))                                                                      \
    KIBI_PIXELS_STORE                                                                           \
    "strh r6, [r3, r2]\n"                                                                       \
    "strh r8, [r3, r2, lsl #1]\n"                                                               \
    "add r2, r2, r2, lsl #1\n"                                                                  \
    "strh r10, [r3, r2]\n"                                                                      \
    KIBI_PIXELS_END)

#endif
