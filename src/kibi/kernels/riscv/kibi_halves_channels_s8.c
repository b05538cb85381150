/* All output channels of a block of pixels, RISC-V: one multiplication makes the products of two pixels. */
#include "kibi_halves_channels_s8.h"

#include "kibi_assembly.h"
#include "kibi_halves_groups_s8.h"

/* Parts that only some layers need: blocks of so many pixels. */
#ifndef KIBI_HALVES_OF_1
#define KIBI_HALVES_OF_1 1
#endif
#ifndef KIBI_HALVES_OF_2
#define KIBI_HALVES_OF_2 1
#endif
#ifndef KIBI_HALVES_OF_3
#define KIBI_HALVES_OF_3 1
#endif
#ifndef KIBI_HALVES_OF_4
#define KIBI_HALVES_OF_4 1
#endif
#ifndef KIBI_HALVES_OF_5
#define KIBI_HALVES_OF_5 1
#endif
#ifndef KIBI_HALVES_OF_6
#define KIBI_HALVES_OF_6 1
#endif
/* Layers whose outputs are cut at the zero point or above it, and others. */
#ifndef KIBI_HALVES_OF_RELU
#define KIBI_HALVES_OF_RELU 1
#endif
#ifndef KIBI_HALVES_OF_SIGNS
#define KIBI_HALVES_OF_SIGNS 1
#endif

KIBI_FIELD_AT(kibi_halves_block, words, 0);
KIBI_FIELD_AT(kibi_halves_block, filter, 4);
KIBI_FIELD_AT(kibi_halves_block, breaks, 8);
KIBI_FIELD_AT(kibi_halves_block, bias, 12);
KIBI_FIELD_AT(kibi_halves_block, sums, 16);
KIBI_FIELD_AT(kibi_halves_block, multiplier, 20);
KIBI_FIELD_AT(kibi_halves_block, shift, 24);
KIBI_FIELD_AT(kibi_halves_block, output, 28);
KIBI_FIELD_AT(kibi_halves_block, channels, 32);
KIBI_FIELD_AT(kibi_halves_block, filter_bytes, 36);
KIBI_FIELD_AT(kibi_halves_block, filter_step, 40);
KIBI_FIELD_AT(kibi_halves_block, breaks_step, 44);
KIBI_FIELD_AT(kibi_halves_block, sums_step, 48);
KIBI_FIELD_AT(kibi_halves_block, first, 52);
KIBI_FIELD_AT(kibi_halves_block, pixels, 56);
KIBI_FIELD_AT(kibi_halves_block, finishes, 60);
KIBI_FIELD_AT(kibi_halves_block, output_channels, 64);
KIBI_FIELD_AT(kibi_halves_block, last, 68);
KIBI_FIELD_AT(kibi_halves_block, rounding, 72);
KIBI_FIELD_AT(kibi_halves_block, low, 76);
KIBI_FIELD_AT(kibi_halves_block, high, 80);
KIBI_FIELD_AT(kibi_halves_block, first_bytes, 84);

/* Where blocks of so many pixels add their products, and where they write outputs, are kept. */
#define CHOOSE(pixels, products, relu, signs)   \
    "li t2, " pixels "\n"                       \
    "bne t3, t2, 2f\n"                          \
    "lla t0, " products "\n"                    \
    CHOOSE_RELU(relu)                           \
    CHOOSE_SIGNS(signs)                         \
    "j 19f\n"                                   \
    "2:\n"
#if KIBI_HALVES_OF_RELU
#define CHOOSE_RELU(outputs) "lla t1, " outputs "\n"
#else
#define CHOOSE_RELU(outputs)
#endif
#if KIBI_HALVES_OF_RELU && KIBI_HALVES_OF_SIGNS
#define CHOOSE_SIGNS(outputs) "bgez t4, 19f\n" "lla t1, " outputs "\n"
#elif KIBI_HALVES_OF_SIGNS
#define CHOOSE_SIGNS(outputs) "lla t1, " outputs "\n"
#else
#define CHOOSE_SIGNS(outputs)
#endif

/* The outputs of a channel, the last one first; blocks begin at theirs. */
#define OUTPUTS(each, label)    \
    FIFTHS(each, label)         \
    label "4:\n" each("s5")     \
    label "3:\n" each("s4")     \
    label "2:\n" each("s1")     \
    label "1:\n" each("s0")
#if KIBI_HALVES_OF_6
#define FIFTHS(each, label) label "6:\n" each("s9") label "5:\n" each("s8")
#elif KIBI_HALVES_OF_5
#define FIFTHS(each, label) label "5:\n" each("s8")
#else
#define FIFTHS(each, label)
#endif

#define KEEP(op)                                                                                    \
    op " ra, 12(sp)\n" op " s0, 16(sp)\n" op " s1, 20(sp)\n" op " s2, 24(sp)\n" op " s3, 28(sp)\n"  \
    op " s4, 32(sp)\n" op " s5, 36(sp)\n" op " s6, 40(sp)\n" op " s7, 44(sp)\n" op " s8, 48(sp)\n"  \
    op " s9, 52(sp)\n" op " s10, 56(sp)\n" op " s11, 60(sp)\n"

/* Sums that are kept, of one word of an element. */
#define KEPT_0(op) op " s0, 0(a0)\n" op " s1, 4(a0)\n" op " s2, 8(a0)\n" op " s3, 12(a0)\n"
#define KEPT_1(op) op " s4, 16(a0)\n" op " s5, 20(a0)\n" op " s6, 24(a0)\n" op " s7, 28(a0)\n"
#define KEPT_2(op) op " s8, 32(a0)\n" op " s9, 36(a0)\n" op " s10, 40(a0)\n" op " s11, 44(a0)\n"
#define KEPT(op)                \
    "lw a0, 16(ra)\n"           \
    "lw t6, 56(ra)\n"           \
    "addi t6, t6, -2\n"         \
    KEPT_0(op)                  \
    "blez t6, 2f\n"             \
    "addi t6, t6, -2\n"         \
    KEPT_1(op)                  \
    "blez t6, 2f\n"             \
    KEPT_2(op)                  \
    "2:\n"

/* Takes the second pixel's sum out of that of both. */
#define PART(both, second) "slli t0, " second ", 16\n" "sub " both ", " both ", t0\n"

#define CUT                     \
    "bge t0, a4, 2f\n"          \
    "mv t0, a4\n"               \
    "2:\n"                      \
    "bge a5, t0, 2f\n"          \
    "mv t0, a5\n"               \
    "2:\n"                      \
    "sb t0, 0(t5)\n"

/* t0 = the rounded upper half of a sum times the doubled multiplier */
#define SCALE(sum)              \
    "mulhsu t0, " sum ", a1\n"  \
    "mul t1, " sum ", a1\n"     \
    "srli t1, t1, 31\n"         \
    "add t0, t0, t1\n"

/* Scales a sum to the right, and stores the output before the last one. Halves go away from 0; where what is below 0 is cut off, up. */
#define ROUND               \
    "sra t0, t0, a2\n"      \
    "add t0, t0, a3\n"      \
    "srai t0, t0, 1\n"      \
    CUT                     \
    "sub t5, t5, a6\n"
#define SIGNS(sum) SCALE(sum) "srai t1, t0, 31\n" "add t0, t0, t1\n" ROUND
#define RELU(sum) SCALE(sum) ROUND

/* Registers and stack:
 *   a0          a word of elements; before: block
 *   a1, a2      weights and elements of two groups
 *   a3          end of the weights that share a word of breaks
 *   a4          breaks
 *   a5          2**15
 *   a6, a7      weights of both channels
 *   t0 … t5     products in halves: of both channels and the first pair of pixels, then of the second and of the third one
 *   t6          a product
 *   s0 … s3     sums of the first pair: of the first channel, of both pixels and of the second one; then of the second channel
 *   s4 … s7     of the second pair
 *   s8 … s11    of the third pair
 *   ra          block
 * while outputs are written:
 *   a0          of the next channel
 *   a1, a2      the multiplier, doubled, and ~shift
 *   a3 … a5     rounding, low, high
 *   a6          output_channels
 *   a7, t2      the next multiplier and shift
 *   t6          where outputs are written
 *   t0, t1      a sum as it is scaled
 *   t3          channels that are left
 *   t4          true for the second channel
 *   t5          the next output
 *   sp + 0      end of the weights
 *   sp + 4      the word of breaks
 *   sp + 8      where products are added
 *   sp + 12     ra, s0 … s11 of the caller
 *   sp + 64     where outputs are written
 *   sp + 68     sums that are scaled one after another
 * Stack: 96 bytes. */
KIBI_NAKED void kibi_halves_channels_s8(KIBI_IN_REGISTER kibi_halves_block *block)
{
    __asm__ volatile(
        "addi sp, sp, -96\n"
        KEEP("sw")
        "mv ra, a0\n"
        "lw t3, 56(ra)\n"
        "lw t4, 76(ra)\n"
        "slli t4, t4, 1\n"
        "lw t2, 72(ra)\n"
        "sub t4, t4, t2\n"
        "addi t4, t4, 1\n" /* below 0: outputs below the zero point are not cut off */
#if KIBI_HALVES_OF_6
        CHOOSE("6", "16f", "26f", "46f")
#endif
#if KIBI_HALVES_OF_5
        CHOOSE("5", "15f", "25f", "45f")
#endif
#if KIBI_HALVES_OF_4
        CHOOSE("4", "14f", "24f", "44f")
#endif
#if KIBI_HALVES_OF_3
        CHOOSE("3", "13f", "23f", "43f")
#endif
#if KIBI_HALVES_OF_2
        CHOOSE("2", "12f", "22f", "42f")
#endif
#if KIBI_HALVES_OF_1
        CHOOSE("1", "11f", "21f", "41f")
#endif
        "19:\n"
        "sw t0, 8(sp)\n"
        "sw t1, 64(sp)\n"
        "10:\n" /* the next two channels */
        "lw a1, 4(ra)\n"
        "lw t0, 36(ra)\n"
        "add t0, t0, a1\n"
        "sw t0, 0(sp)\n"
        "lw t1, 40(ra)\n"
        "add t1, t1, a1\n"
        "sw t1, 4(ra)\n"
        "lw t1, 8(ra)\n"
        "sw t1, 4(sp)\n"
        "lw a4, 0(t1)\n"
        "lw t2, 44(ra)\n"
        "add t1, t1, t2\n"
        "sw t1, 8(ra)\n"
        "lw t2, 52(ra)\n"
        "sll a4, a4, t2\n"
        "lw t2, 84(ra)\n"
        "add a3, a1, t2\n"
        "bgeu t0, a3, 2f\n"
        "mv a3, t0\n"
        "2:\n"
        "lui a5, 8\n"
        "lw a2, 0(ra)\n"
        "lw a6, 12(ra)\n"
        "beqz a6, 8f\n"
        "lw s1, 0(a6)\n"
        "lw s3, 4(a6)\n"
        "addi a6, a6, 8\n"
        "sw a6, 12(ra)\n"
        "slli s0, s1, 16\n"
        "add s0, s0, s1\n"
        "slli s2, s3, 16\n"
        "add s2, s2, s3\n"
        "mv s4, s0\n"
        "mv s5, s1\n"
        "mv s6, s2\n"
        "mv s7, s3\n"
        "mv s8, s0\n"
        "mv s9, s1\n"
        "mv s10, s2\n"
        "mv s11, s3\n"
        "9:\n"
        "lw a0, 8(sp)\n"
        "jr a0\n"
        "8:\n"
        KEPT("lw")
        "j 9b\n");
#if KIBI_HALVES_OF_6
    __asm__ volatile("16:\n" GROUPS_3(BEGIN_2, MORE_2, HALF_6, TAKE_0 TAKE_1 TAKE_2));
#endif
#if KIBI_HALVES_OF_5
    __asm__ volatile("15:\n" GROUPS_3(ALONE_2, ALONE_2, HALF_4, TAKE_0 TAKE_1));
#endif
#if KIBI_HALVES_OF_4
    __asm__ volatile("14:\n" GROUPS_2(BEGIN_1, MORE_1, HALF_4, TAKE_0 TAKE_1));
#endif
#if KIBI_HALVES_OF_3
    __asm__ volatile("13:\n" GROUPS_2(ALONE_1, ALONE_1, HALF_2, TAKE_0));
#endif
#if KIBI_HALVES_OF_2
    __asm__ volatile("12:\n" GROUPS_1(BEGIN_0, MORE_0, HALF_2, TAKE_0));
#endif
#if KIBI_HALVES_OF_1
    __asm__ volatile("11:\n" GROUPS_1(ALONE_0, ALONE_0, HALF_0, ""));
#endif
    __asm__ volatile(
        "30:\n" /* the products of a word of breaks are done */
        "lw t0, 0(sp)\n"
        "beq a1, t0, 31f\n"
        "lw t1, 4(sp)\n"
        "addi t1, t1, 4\n"
        "sw t1, 4(sp)\n"
        "lw a4, 0(t1)\n"
        "addi a3, a1, 256\n"
        "bgeu t0, a3, 9b\n"
        "mv a3, t0\n"
        "j 9b\n"
        "31:\n" /* those of the piece are */
        "lw t3, 32(ra)\n"
        "lw t0, 60(ra)\n"
        "bnez t0, 33f\n"
        KEPT("sw")
        "addi t3, t3, -2\n"
        "32:\n"
        "lw t1, 48(ra)\n"
        "beqz t1, 2f\n"
        "lw t0, 16(ra)\n"
        "add t0, t0, t1\n"
        "sw t0, 16(ra)\n"
        "2:\n"
        "sw t3, 32(ra)\n"
        "bgtz t3, 10b\n"
        KEEP("lw")
        "addi sp, sp, 96\n"
        "ret\n"
        "33:\n"
        PART("s0", "s1") PART("s2", "s3") PART("s4", "s5") PART("s6", "s7") PART("s8", "s9") PART("s10", "s11")
        "lw a0, 28(ra)\n"
        "lw a3, 72(ra)\n"
        "lw a4, 76(ra)\n"
        "lw a5, 80(ra)\n"
        "lw a6, 64(ra)\n"
        "lw a7, 20(ra)\n"
        "lw t2, 24(ra)\n"
        "lw t6, 64(sp)\n"
        "li t4, 0\n"
        "34:\n" /* a channel's outputs */
        "lw a1, 0(a7)\n"
        "slli a1, a1, 1\n"
        "lb a2, 0(t2)\n"
        "not a2, a2\n"
        "blez a2, 36f\n"
        "mv t5, a0\n"
        "jr t6\n");
#if KIBI_HALVES_OF_RELU
    __asm__ volatile(OUTPUTS(RELU, "2"));
#endif
#if KIBI_HALVES_OF_RELU && KIBI_HALVES_OF_SIGNS
    __asm__ volatile("j 35f\n");
#endif
#if KIBI_HALVES_OF_SIGNS
    __asm__ volatile(OUTPUTS(SIGNS, "4"));
#endif
    __asm__ volatile(
        "35:\n"
        "addi a7, a7, 4\n"
        "addi t2, t2, 1\n"
        "addi a0, a0, 1\n"
        "addi t3, t3, -1\n"
        "beqz t3, 2f\n"
        "bnez t4, 2f\n"
        "li t4, 1\n"
        "mv s0, s2\n"
        "mv s1, s3\n"
        "mv s4, s6\n"
        "mv s5, s7\n"
        "mv s8, s10\n"
        "mv s9, s11\n"
        "j 34b\n"
        "2:\n"
        "sw a0, 28(ra)\n"
        "sw a7, 20(ra)\n"
        "sw t2, 24(ra)\n"
        "j 32b\n"
        "36:\n" /* a shift to the left, or to the right by 1, where twice the zero point may be too much; both are rare */
        "not a2, a2\n"
        "sw s0, 68(sp)\n"
        "sw s1, 72(sp)\n"
        "sw s4, 76(sp)\n"
        "sw s5, 80(sp)\n"
        "sw s8, 84(sp)\n"
        "sw s9, 88(sp)\n"
        "mv s8, a2\n"
        "bgez s8, 2f\n"
        "li s8, 0\n"
        "2:\n"
        "addi s0, sp, 68\n"
        "lw s1, 56(ra)\n"
        "slli s1, s1, 2\n"
        "add s1, s1, s0\n"
        "srai s4, a3, 1\n"
        "lw t5, 68(ra)\n"
        "sub t5, a0, t5\n"
        "1:\n"
        "lw s5, 0(s0)\n"
        "sll s5, s5, s8\n"
        SCALE("s5")
        "bgez a2, 3f\n"
        "srai t1, t0, 31\n"
        "add t0, t0, t1\n"
        "addi t0, t0, 1\n"
        "srai t0, t0, 1\n"
        "3:\n"
        "add t0, t0, s4\n"
        CUT
        "add t5, t5, a6\n"
        "addi s0, s0, 4\n"
        "bne s0, s1, 1b\n"
        "j 35b\n");
}
