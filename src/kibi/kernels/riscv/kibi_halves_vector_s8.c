/* All output channels of an input vector, RISC-V: one multiplication makes the products of two channels. */
#include "kibi_halves_vector_s8.h"

#include "kibi_assembly.h"

KIBI_FIELD_AT(kibi_halves_vector, filter, 0);
KIBI_FIELD_AT(kibi_halves_vector, breaks, 4);
KIBI_FIELD_AT(kibi_halves_vector, bias, 8);
KIBI_FIELD_AT(kibi_halves_vector, multiplier, 12);
KIBI_FIELD_AT(kibi_halves_vector, shift, 16);
KIBI_FIELD_AT(kibi_halves_vector, output, 20);
KIBI_FIELD_AT(kibi_halves_vector, channels, 24);
KIBI_FIELD_AT(kibi_halves_vector, pieces, 28);
KIBI_FIELD_AT(kibi_halves_vector, pieces_end, 32);
KIBI_FIELD_AT(kibi_halves_vector, offset, 36);
KIBI_FIELD_AT(kibi_halves_vector, piece, 40);
KIBI_FIELD_AT(kibi_halves_vector, rounding, 44);
KIBI_FIELD_AT(kibi_halves_vector, low, 48);
KIBI_FIELD_AT(kibi_halves_vector, high, 52);

/* A pair of channels, whose word is at `place`: t gets the products of both elements. Without the first one's weights, the word is 2**8
 * times the second one's, and the upper half of its product with 2**24 times the element is the product. */
#define PAIR(place, t)              \
    "lw t4, " place "(a1)\n"        \
    "and t5, t4, s8\n"              \
    "sub t4, t4, t5\n"              \
    "mul t5, t5, a6\n"              \
    "mulhsu t4, a7, t4\n"           \
    "add " t ", " t ", t5\n"        \
    "add " t ", " t ", t4\n"

/* The next two elements, and the words of four pairs of channels. */
#define STEP(first, second, w0, w1, w2, w3)     \
    "lb a6, " first "(a2)\n"                    \
    "lb a7, " second "(a2)\n"                   \
    "add s9, s9, a6\n"                          \
    "add s9, s9, a7\n"                          \
    "slli a7, a7, 24\n"                         \
    PAIR(w0, "t0") PAIR(w1, "t1") PAIR(w2, "t2") PAIR(w3, "t3")

/* Adds what a word of halves holds to the sums: t4 takes away what 128 more in each weight has added, and makes the lower half one
 * without a sign. */
#define SPLIT(t, both, second)                  \
    "add " t ", " t ", t4\n"                    \
    "add " both ", " both ", " t "\n"           \
    "srai " t ", " t ", 16\n"                   \
    "add " second ", " second ", " t "\n"       \
    "li " t ", 0\n"

#define START(both, second, place, next)    \
    "lw " second ", " next "(a6)\n"         \
    "lw t0, " place "(a6)\n"                \
    "slli " both ", " second ", 16\n"       \
    "add " both ", " both ", t0\n"
#define STORE(both, second, place, next)    \
    "slli t0, " second ", 16\n"             \
    "sub " both ", " both ", t0\n"          \
    "sub " both ", " both ", s10\n"         \
    "sw " both ", " place "(sp)\n"          \
    "sw " second ", " next "(sp)\n"
#define KEEP(op)                                                                                    \
    op " ra, 36(sp)\n" op " s0, 40(sp)\n" op " s1, 44(sp)\n" op " s2, 48(sp)\n" op " s3, 52(sp)\n"  \
    op " s4, 56(sp)\n" op " s5, 60(sp)\n" op " s6, 64(sp)\n" op " s7, 68(sp)\n" op " s8, 72(sp)\n"  \
    op " s9, 76(sp)\n" op " s10, 80(sp)\n" op " s11, 84(sp)\n"

/* Registers and stack:
 *   a0        the next word of breaks; before: vector
 *   a1, a2    weights and elements of two steps
 *   a3        end of the elements that share a word of breaks
 *   a4        breaks
 *   a5        end of the piece
 *   a6, a7    the first element; 2**24 times the second one
 *   t0 … t3   products in halves, of each pair of channels
 *   t4, t5    free
 *   t6        where sums of products return to
 *   s0 … s7   sums: of each pair of channels, those of the first one plus 2**16 times those of the second one; of the second one
 *   s8        ones in the lowest bytes of both halves
 *   s9        the sum of the elements since sums of products ended
 *   s10       2**15 for each time they ended
 *   s11       the next piece
 *   ra        vector
 *   sp + 0    the sums of eight channels, when they are whole
 *   sp + 32   elements that the word of breaks has left
 *   sp + 36   ra, s0 … s11 of the caller
 * Stack: 96 bytes. */
KIBI_NAKED void kibi_halves_vector_s8(KIBI_IN_REGISTER kibi_halves_vector *vector)
{
    __asm__ volatile(
        "addi sp, sp, -96\n"
        KEEP("sw")
        "mv ra, a0\n"
        "10:\n" /* the next eight channels */
        "lw a6, 8(ra)\n"
        START("s0", "s1", "0", "4") START("s2", "s3", "8", "12") START("s4", "s5", "16", "20") START("s6", "s7", "24", "28")
        "addi a6, a6, 32\n"
        "sw a6, 8(ra)\n"
        "lui s8, 0xff0\n"
        "addi s8, s8, 0xff\n"
        "li s9, 0\n"
        "li s10, 0\n"
        "li t0, 0\n"
        "li t1, 0\n"
        "li t2, 0\n"
        "li t3, 0\n"
        "lw a1, 0(ra)\n"
        "lw a0, 4(ra)\n"
        "lw s11, 28(ra)\n"
        "sw zero, 32(sp)\n"
        "11:\n" /* the next piece */
        "lw a2, 0(s11)\n"
        "lw t4, 36(ra)\n"
        "add a2, a2, t4\n"
        "lw t4, 40(ra)\n"
        "add a5, a2, t4\n"
        "12:\n" /* what shares a word of breaks */
        "lw t4, 32(sp)\n"
        "bnez t4, 1f\n"
        "lw a4, 0(a0)\n"
        "addi a0, a0, 4\n"
        "li t4, 64\n"
        "1:\n"
        "add a3, a2, t4\n"
        "bgeu a5, a3, 1f\n"
        "mv a3, a5\n"
        "1:\n"
        "sub t5, a3, a2\n"
        "sub t4, t4, t5\n"
        "sw t4, 32(sp)\n"
        "andi t5, t5, 2\n"
        "beqz t5, 2f\n"
        "addi a1, a1, -16\n" /* an odd number of steps begins with the second one of two */
        "addi a2, a2, -2\n"
        "srli a4, a4, 1\n"
        "j 4f\n"
        "2:\n"
        STEP("0", "1", "0", "4", "8", "12")
        "bltz a4, 6f\n"
        "4:\n");
    __asm__ volatile(
        STEP("2", "3", "16", "20", "24", "28")
        "slli t4, a4, 1\n"
        "bltz t4, 7f\n"
        "5:\n"
        "slli a4, a4, 2\n"
        "addi a1, a1, 32\n"
        "addi a2, a2, 4\n"
        "bne a2, a3, 2b\n"
        "jal t6, 8f\n"
        "bne a2, a5, 12b\n"
        "addi s11, s11, 4\n"
        "lw t4, 32(ra)\n"
        "bne s11, t4, 11b\n"
        "j 9f\n"
        "6:\n"
        "jal t6, 8f\n"
        "j 4b\n"
        "7:\n"
        "lla t6, 5b\n"
        "8:\n" /* sums of products end */
        "lui t4, 8\n"
        "add s10, s10, t4\n"
        "slli t5, s9, 7\n"
        "sub t4, t4, t5\n"
        "slli t5, s9, 23\n"
        "sub t4, t4, t5\n"
        SPLIT("t0", "s0", "s1") SPLIT("t1", "s2", "s3") SPLIT("t2", "s4", "s5") SPLIT("t3", "s6", "s7")
        "li s9, 0\n"
        "jr t6\n");
    __asm__ volatile(
        "9:\n" /* the sums are whole */
        "sw a1, 0(ra)\n"
        "sw a0, 4(ra)\n"
        STORE("s0", "s1", "0", "4") STORE("s2", "s3", "8", "12") STORE("s4", "s5", "16", "20") STORE("s6", "s7", "24", "28")
        "lw a1, 12(ra)\n"
        "lw a2, 16(ra)\n"
        "lw a3, 20(ra)\n"
        "lw a4, 24(ra)\n"
        "lw a5, 44(ra)\n"
        "lw a6, 48(ra)\n"
        "lw a7, 52(ra)\n"
        "mv s0, sp\n"
        "addi s1, sp, 32\n"
        "1:\n"
        "lw t2, 0(s0)\n"
        "lw t3, 0(a1)\n"
        "slli t3, t3, 1\n"
        "lb t4, 0(a2)\n"
        "not t4, t4\n"
        "blez t4, 5f\n"
        "mulhsu t0, t2, t3\n"
        "mul t1, t2, t3\n"
        "srli t1, t1, 31\n"
        "add t0, t0, t1\n"
        "srai t1, t0, 31\n"
        "add t0, t0, t1\n"
        "sra t0, t0, t4\n"
        "add t0, t0, a5\n"
        "srai t0, t0, 1\n"
        "4:\n"
        "bge t0, a6, 2f\n"
        "mv t0, a6\n"
        "2:\n"
        "bge a7, t0, 2f\n"
        "mv t0, a7\n"
        "2:\n"
        "sb t0, 0(a3)\n"
        "addi a1, a1, 4\n"
        "addi a2, a2, 1\n"
        "addi a3, a3, 1\n"
        "addi s0, s0, 4\n"
        "addi a4, a4, -1\n"
        "beqz a4, 3f\n"
        "bne s0, s1, 1b\n"
        "sw a1, 12(ra)\n"
        "sw a2, 16(ra)\n"
        "sw a3, 20(ra)\n"
        "sw a4, 24(ra)\n"
        "j 10b\n"
        "3:\n"
        KEEP("lw")
        "addi sp, sp, 96\n"
        "ret\n"
        "5:\n" /* a shift to the left, or to the right by 1, where twice the zero point may be too much; both are rare */
        "not t5, t4\n"
        "bgez t5, 2f\n"
        "li t5, 0\n"
        "2:\n"
        "sll t2, t2, t5\n"
        "mulhsu t0, t2, t3\n"
        "mul t1, t2, t3\n"
        "srli t1, t1, 31\n"
        "add t0, t0, t1\n"
        "bltz t4, 2f\n"
        "srai t1, t0, 31\n"
        "add t0, t0, t1\n"
        "addi t0, t0, 1\n"
        "srai t0, t0, 1\n"
        "2:\n"
        "srai t1, a5, 1\n"
        "add t0, t0, t1\n"
        "j 4b\n");
}
