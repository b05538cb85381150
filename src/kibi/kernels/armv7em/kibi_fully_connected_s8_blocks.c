/* FULLY_CONNECTED, int8, packed weights, Armv7E-M: the same instructions from every compiler. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dsp.h"

/* Blocks of eight channels are scaled in their registers; else all sums are scaled by one loop, which is shorter and slower. */
#ifndef KIBI_FULLY_CONNECTED_S8_BLOCKS_OF_EIGHTS
#define KIBI_FULLY_CONNECTED_S8_BLOCKS_OF_EIGHTS 1
#endif
/* Parts that a library leaves out where the outputs of no layer, or of every one, are rounded once. */
#ifndef KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_ONCE
#define KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_ONCE 1
#endif
#ifndef KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_TWICE
#define KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_TWICE 1
#endif
#if KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_ONCE
#define OF_ONCE(text) text
#else
#define OF_ONCE(text) ""
#endif
#if KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_TWICE || !KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_ONCE
#define OF_TWICE(text) text
#else
#define OF_TWICE(text) ""
#endif
#if KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_ONCE && KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_TWICE
#define OF_BOTH(text) text
#else
#define OF_BOTH(text) ""
#endif

/* Where the assembly reads the parameters. */
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, filter, 0);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, scales, 4);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, scale_step, 8);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, piece, 12);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, pieces, 16);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, vectors, 20);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, row_elements, 24);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, output_channels, 28);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, rounding, 32);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, clamps, 36);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, activation_min, 40);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, activation_max, 44);
KIBI_FIELD_AT(kibi_fully_connected_s8_blocks_params, rounds_once, 48);

/* Four elements in r2 as factors of whole halves of weights, x0 and x2 in r3, and of their lower bytes, 256 * x1 - x0 + 127
 * and the same of x3 and x2: the upper byte of a half stays, and 127 - x0 is its lower one with all bits but the highest
 * flipped. */
#define PREPARE                      \
    "sxtb16 r3, r2\n"                \
    "eor r2, r2, #0x007F007F\n"

/* Macros of the assembler, because ISO C limits how long a text may be; the kernel's last lines forget them.
 *
 * Two channels' words from r0. */
#define TWO                                  \
    ".macro kibi_two first, second\n"        \
    "ldrd r12, lr, [r0], #8\n"               \
    "smlad \\first, r12, r3, \\first\n"      \
    "smlad \\second, lr, r3, \\second\n"     \
    "sxtb16 r12, r12\n"                      \
    "sxtb16 lr, lr\n"                        \
    "smlad \\first, r12, r2, \\first\n"      \
    "smlad \\second, lr, r2, \\second\n"     \
    ".endm\n"

#define EIGHT PREPARE "kibi_two r4, r5\nkibi_two r6, r7\nkibi_two r8, r9\nkibi_two r10, r11\n"

/* Two sums become outputs, as in the loop at 21: r1 the exponents, r2 and r12 the multipliers, r0 the rounding, lr output. */
#define SCALE                                \
    ".macro kibi_scale first, second\n"      \
    "ldm r3, {r1, r2, r12}\n"                \
    "asrs \\first, \\first, #7\n"            \
    "asrs \\second, \\second, #7\n"          \
    "smmulr \\first, \\first, r2\n"          \
    "smmulr \\second, \\second, r12\n"       \
    "add \\first, \\first, \\first, asr #31\n" \
    "add \\second, \\second, \\second, asr #31\n" \
    "asr \\first, \\first, r1\n"             \
    "lsrs r1, r1, #8\n"                      \
    "asr \\second, \\second, r1\n"           \
    "qadd \\first, \\first, r0\n"            \
    "qadd \\second, \\second, r0\n"          \
    "ssat \\first, #8, \\first, asr #1\n"    \
    "ssat \\second, #8, \\second, asr #1\n"  \
    "strb \\first, [lr], #1\n"               \
    "strb \\second, [lr], #1\n"              \
    ".endm\n"

/* The same with one product: the zero point has a fraction of 11 bits, which is cut off. */
#define SCALE_ONCE                           \
    ".macro kibi_scale_once first, second\n" \
    "ldrd r2, r12, [r3, #4]\n"               \
    "smmla \\first, \\first, r2, r0\n"       \
    "smmla \\second, \\second, r12, r0\n"    \
    "ssat \\first, #8, \\first, asr #11\n"   \
    "ssat \\second, #8, \\second, asr #11\n" \
    "strb \\first, [lr], #1\n"              \
    "strb \\second, [lr], #1\n"             \
    ".endm\n"

/* Eight sums become outputs, by one of both macros. */
#define SCALE_EIGHT(scale)                   \
    scale " r4, r5\n"                        \
    "ldr r4, [sp, #56]\n"                    \
    "add r3, r3, r4\n"                       \
    scale " r6, r7\n"                        \
    "add r3, r3, r4\n"                       \
    scale " r8, r9\n"                        \
    "add r3, r3, r4\n"                       \
    scale " r10, r11\n"                      \
    "add r3, r3, r4\n"

/* Registers and stack:
 *   r0        the weights; before: output
 *   r1        the input; before: rows
 *   r2, r3    elements as factors; before: params, scratch; else free
 *   r4 … r11  the sums; else free
 *   r12, lr   weights; else free
 *   sp + 0    where the weights of the piece's last whole four start; of two channels: where they end
 *   sp + 4    elements after these
 *   sp + 8    the next row
 *   sp + 12   where the vector's rows end
 *   sp + 16   eight sums
 *   sp + 48   the next scales
 *   sp + 52   output
 *   sp + 56   scale_step
 *   sp + 60   rounding: odd; where outputs are rounded once, the zero point with its fraction, which is even
 *   sp + 64   vectors left
 *   sp + 68   elements before the vector
 *   sp + 72   the vector's rows
 *   sp + 76   channels left
 *   sp + 80   where a piece is begun
 *   sp + 84   bytes of its whole fours' weights, without the last four's; of two channels: of all
 *   sp + 88   elements after these
 *   sp + 92   params
 *   sp + 96   the next sum of the last channels; of eight: their last elements, and while they are scaled, the weights
 *   sp + 100  r4 … r11, lr of the caller
 * Stack: 136 bytes. */
KIBI_NAKED __attribute__((aligned(4))) void kibi_fully_connected_s8_blocks(
    KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER const int8_t *const *rows,
    KIBI_IN_REGISTER const kibi_fully_connected_s8_blocks_params *params, KIBI_IN_REGISTER void *scratch)
{
    __asm__ volatile(
        ".syntax unified\n" TWO SCALE SCALE_ONCE);
    __asm__ volatile(
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #100\n"
        "str r0, [sp, #52]\n"
        "str r2, [sp, #92]\n"
        "ldr r4, [r2, #8]\n"  /* scale_step */
        "ldr r5, [r2, #32]\n" /* rounding */
        OF_BOTH("ldr r6, [r2, #48]\n" /* rounds_once */
                "cbz r6, 9f\n")
        OF_ONCE("subs r5, r5, #1\n" /* twice the zero point */
                "lsls r5, r5, #10\n"
                "9:\n")
        "strd r4, r5, [sp, #56]\n"
        "ldr r4, [r2, #20]\n" /* vectors */
        "movs r5, #0\n"
        "1:\n" /* the next vector */
        "strd r4, r5, [sp, #64]\n"
        "str r1, [sp, #72]\n"
        "ldrd r4, r3, [r2, #12]\n" /* piece, pieces */
        "add r3, r1, r3, lsl #2\n"
        "str r3, [sp, #12]\n"
        "and r3, r4, #3\n"
        "str r3, [sp, #88]\n"
        "lsrs r5, r4, #2\n"
        "adr.w r3, 10f\n"
        /* Where a piece is begun: at 10, at 11 with an odd number of fours, at 13 with none. */
        "lsrs r6, r5, #1\n"
        "it eq\n"
        "adreq.w r3, 13f\n"
        "it cs\n" /* an odd number of fours */
        "adrcs.w r3, 11f\n"
        "orr r3, r3, #1\n"
        /* A four of elements has a word of weights for each of eight channels: 32 bytes. */
        "lsls r5, r5, #5\n"
        "subs r5, r5, #32\n"
        "strd r3, r5, [sp, #80]\n"
        "ldrd r0, r3, [r2]\n" /* filter, scales */
        KIBI_AT_IN_ASSEMBLY("r0", "r2")
        KIBI_AT_IN_ASSEMBLY("r3", "r2")
        "str r3, [sp, #48]\n"
        "ldr r4, [r2, #28]\n" /* output_channels */
        "2:\n" /* the next block */
        "str r4, [sp, #76]\n"
        "cmp r4, #8\n"
        "blo 3f\n"
        "ldm r0!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "5:\n" /* a block's first piece */
        "ldr r3, [sp, #72]\n"
        "6:\n" /* the next piece */
        "ldr r1, [r3], #4\n"
        "str r3, [sp, #8]\n"
        "ldr r2, [sp, #68]\n"
        "add r1, r1, r2\n"
        "ldrd r3, lr, [sp, #84]\n"
        "add r3, r3, r0\n"
        "strd r3, lr, [sp]\n"
        "ldr pc, [sp, #80]\n"
        ".balign 4\n" /* a branch to a wide instruction across words would take a cycle more */
        "10:\n" /* two fours an iteration */
        "ldr r2, [r1], #4\n" EIGHT
        "11:\n" /* enter with an odd number; two loads next to each other take three cycles, and what follows keeps the flags */
        "ldr r3, [sp]\n"
        "ldr r2, [r1], #4\n"
        "cmp r0, r3\n"
        EIGHT
        "bne 10b\n"
        "13:\n" /* whole fours of the piece are done */
        "ldr r2, [sp, #4]\n"
        "cmp r2, #0\n"
        "bne 15f\n"
        "ldrd r3, r12, [sp, #8]\n"
        "cmp r3, r12\n"
        "bne 6b\n"
        "ldr r3, [sp, #76]\n"
        "add r1, sp, #16\n"
        "cmp r3, #8\n"
        "blo 19f\n"
#if KIBI_FULLY_CONNECTED_S8_BLOCKS_OF_EIGHTS
        "str r0, [sp, #96]\n"
        "ldrd r3, lr, [sp, #48]\n"
        "ldr r0, [sp, #60]\n"
        OF_BOTH("lsls r1, r0, #31\n" "beq 8f\n")
        OF_TWICE(SCALE_EIGHT("kibi_scale"))
        OF_BOTH("b 14f\n" "8:\n")
        OF_ONCE(SCALE_EIGHT("kibi_scale_once"))
        "14:\n" /* eight channels are stored */
        "strd r3, lr, [sp, #48]\n"
        "ldr r0, [sp, #96]\n"
        "ldr r4, [sp, #76]\n"
        "subs r4, r4, #8\n"
        "bne 2b\n"
        "b 23f\n"
#else
        "stm r1, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "movs r2, #8\n"
#endif
        "20:\n" /* r2 channels: sums from r1; to the right, rounded half away from zero, as kibi_requantize_s8; or once */
        "sub r10, r3, r2\n"
        "ldrd r3, lr, [sp, #48]\n"
        "ldrd r12, r11, [sp, #56]\n"
        OF_BOTH("and r5, r11, #1\n")
        "21:\n" /* the next two channels */
        "ldm r3, {r4, r8, r9}\n"
        "ldrd r6, r7, [r1], #8\n"
        "add r3, r3, r12\n"
        OF_BOTH("cbz r5, 24f\n")
        /* From 256 times the sum to twice: the high half of the product is then that of twice the sum. */
        OF_TWICE("asrs r6, r6, #7\n"
        "asrs r7, r7, #7\n"
        "smmulr r6, r6, r8\n"
        "smmulr r7, r7, r9\n"
        "add r6, r6, r6, asr #31\n"
        "add r7, r7, r7, asr #31\n"
        /* A shift by a register looks at its lowest byte alone: both exponents are in r4. */
        "asrs r6, r6, r4\n"
        "lsrs r4, r4, #8\n"
        "asrs r7, r7, r4\n"
        "qadd r6, r6, r11\n"
        "qadd r7, r7, r11\n"
        "ssat r6, #8, r6, asr #1\n"
        "ssat r7, #8, r7, asr #1\n")
        OF_BOTH("b 25f\n" "24:\n")
        OF_ONCE("smmla r6, r6, r8, r11\n"
                "smmla r7, r7, r9, r11\n"
                "ssat r6, #8, r6, asr #11\n"
                "ssat r7, #8, r7, asr #11\n")
        "25:\n"
        "subs r2, r2, #2\n"
        "strb r6, [lr], #1\n"
        /* An odd number of channels: the pair's second one is padding. */
        "bmi 22f\n"
        "strb r7, [lr], #1\n"
        "bne 21b\n"
        "22:\n" /* the channels are stored */
        "strd r3, lr, [sp, #48]\n"
        "movs r4, r10\n"
        "bne 2b\n"
        "23:\n" /* all channels are stored */
        "ldr r2, [sp, #92]\n"
        "ldr r3, [r2, #36]\n" /* clamps */
        "cbz r3, 31f\n"
        "ldr r4, [r2, #28]\n"      /* output_channels */
        "ldrd r5, r6, [r2, #40]\n" /* activation_min, activation_max */
        "30:\n" /* the next output, from the last one back */
        "ldrsb r3, [lr, #-1]!\n"
        "cmp r3, r5\n"
        "it lt\n"
        "movlt r3, r5\n"
        "cmp r3, r6\n"
        "it gt\n"
        "movgt r3, r6\n"
        "strb r3, [lr]\n"
        "subs r4, r4, #1\n"
        "bne 30b\n"
        "31:\n" /* the vector is done */
        "ldrd r4, r5, [sp, #64]\n"
        "ldr r6, [r2, #12]\n" /* piece */
        "ldr r7, [r2, #24]\n" /* row_elements */
        "ldr r1, [sp, #72]\n"
        "add r5, r5, r6\n"
        "cmp r5, r7\n"
        "bne 32f\n"
        "movs r5, #0\n"
        "ldr r1, [sp, #12]\n"
        "32:\n" /* r4: vectors left, r5: elements before the vector, r1: its rows */
        "subs r4, r4, #1\n"
        "bne 1b\n"
        "add sp, sp, #100\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "15:\n" /* the last one to three elements of a piece, zeros after them */
        "movs r3, #0\n"
        "str r3, [sp, #4]\n"
        "16:\n" /* the next byte, from the last one back */
        "subs r2, r2, #1\n"
        "ldrb r12, [r1, r2]\n"
        "orr r3, r12, r3, lsl #8\n"
        "bne 16b\n"
        "mov r2, r3\n"
        "ldr r3, [sp, #76]\n"
        "cmp r3, #8\n"
        "itt lo\n"
        /* One more step, of weights for two channels (8 bytes) or eight (32), then the loop ends. */
        "addlo r6, r0, #8\n"
        "blo 18f\n"
        "add r1, sp, #96\n"
        "str r2, [r1]\n"
        "str r0, [sp]\n"
        "b 11b\n"
        "3:\n" /* the channels after the last eight, two by two */
        "ldr r5, [sp, #84]\n"
        "adr.w r3, 7f\n"
        /* Weights of two channels take a quarter of the bytes that those of eight take. */
        "adds r5, r5, #32\n"
        "lsrs r5, r5, #2\n"
        "it eq\n"
        "adreq.w r3, 13b\n"
        "orr r3, r3, #1\n"
        "strd r3, r5, [sp, #80]\n"
        "add r3, sp, #16\n"
        "str r3, [sp, #96]\n"
        "4:\n" /* the next two channels */
        "ldrd r4, r5, [r0], #8\n"
        "b 5b\n"
        "7:\n" /* whole fours of a piece, two channels */
        "mov r6, r3\n"
        "17:\n" /* the next four */
        "ldr r2, [r1], #4\n"
        "18:\n" PREPARE "kibi_two r4, r5\n" /* enter with elements in r2 */
        "cmp r0, r6\n"
        "bne 17b\n"
        "b 13b\n"
        "19:\n" /* keep two sums */
        "ldr r2, [sp, #96]\n"
        "stm r2!, {r4, r5}\n"
        "str r2, [sp, #96]\n"
        "subs r2, r2, r1\n"
        "cmp r2, r3, lsl #2\n"
        "blo 4b\n"
        "mov r2, r3\n"
        "b 20b\n"
        ".purgem kibi_two\n"
        ".purgem kibi_scale\n"
        ".purgem kibi_scale_once\n");
}
