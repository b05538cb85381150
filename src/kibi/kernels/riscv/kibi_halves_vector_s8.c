/* All output channels of an input vector, RISC-V: one multiplication makes the products of two channels, and elements of 0 make none. */
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
#if KIBI_HALVES_OF_ZEROS
KIBI_FIELD_AT(kibi_halves_vector, total, 56);
KIBI_FIELD_AT(kibi_halves_vector, flags_bytes, 60);
KIBI_FIELD_AT(kibi_halves_vector, saved, 64);
#endif

/* Four channels, whose word is at `place`: p gets the products of the whole word, q those of the second and the fourth channel, whose
 * weights are in the higher bytes of both halves. With 2**24 times the element, the upper half of their product is as if they were in
 * the lower ones. What p has more than 2**8 times q are the products of the first and the third channel. */
#define FOUR(place, p, q, high)     \
    "lw s0, " place "(a1)\n"        \
    "and t5, s0, s8\n"              \
    "mul s0, s0, a6\n"              \
    high " t5, a7, t5\n"            \
    "add " p ", " p ", s0\n"        \
    "add " q ", " q ", t5\n"

/* An element, and its words of eight channels. */
#define SIGNED "mulhsu"
#define STEP(place, w0, w1)         \
    "lb a6, " place "(a2)\n"        \
    "add s9, s9, a6\n"              \
    "slli a7, a6, 24\n"             \
    FOUR(w0, "t0", "t1", SIGNED)    \
    FOUR(w1, "t2", "t3", SIGNED)

/* An element of those that are small, plus 128; one that is 0 then has no products. Sums end before their elements would be more than
 * a4 together. */
#define SMALL_STEP(place, w0, w1)   \
    "lb a6, " place "(a2)\n"        \
    "addi a6, a6, 128\n"            \
    "beqz a6, 1f\n"                 \
    "add s9, s9, a6\n"              \
    "bgeu a4, s9, 2f\n"             \
    "sub s9, s9, a6\n"              \
    "jal t6, 8f\n"                  \
    "add s9, s9, a6\n"              \
    "2:\n"                          \
    "slli a7, a6, 24\n"             \
    FOUR(w0, "t0", "t1", "mulhu")            \
    FOUR(w1, "t2", "t3", "mulhu")            \
    "1:\n"

#if KIBI_HALVES_OF_ZEROS
/* The way of a weighed vector: t6 is 1, or 0 where small elements take less. Their biases are between both numbers and the flags. */
#define CHOOSE                      \
    "li t6, 1\n"                    \
    "lw t5, 64(ra)\n"               \
    "bltz t5, 1f\n"                 \
    "lw a4, 0(a0)\n"                \
    "lw s0, 4(a0)\n"                \
    "add s0, s0, t5\n"              \
    "mul s0, s0, a4\n"              \
    "lw t5, 56(ra)\n"               \
    "sltu t6, s0, t5\n"             \
    "addi a0, a0, 40\n"             \
    "bnez t6, 1f\n"                 \
    "addi a6, a0, -32\n"            \
    "lw t5, 60(ra)\n"               \
    "add a0, a0, t5\n"              \
    "1:\n"
#define GO "beqz t6, 13f\n"
#else
#define CHOOSE
#define GO
#endif

/* Ends sums if the next bit of a4 is 1. */
#define END "bgez a4, 1f\n" "jal t6, 8f\n" "1:\n" "slli a4, a4, 1\n"

/* Leaves in p what it has more than 2**8 times q. */
#define PART(p, q) "slli t5, " q ", 8\n" "sub " p ", " p ", t5\n"

/* Adds what a word of halves holds to the sums: s0 takes away what 128 more in each weight has added, and makes the lower half one
 * without a sign. */
#define SPLIT(t, both, second)                  \
    "add " t ", " t ", s0\n"                    \
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
 *   a1, a2    weights and elements
 *   a3        end of the elements that share a word of breaks
 *   a4        breaks; or what small elements may be together
 *   a5        end of the piece
 *   a6, a7    an element; 2**24 times that
 *   t0 … t3   products in halves, of each four channels: of the whole words, and of their second and fourth channel
 *   s0, t5    free; instructions with s0 take fewer bytes
 *   t6        where sums of products return to; before: CHOOSE
 *   t4, s1 … s7  sums of each two channels that share a word: the first one's plus 2**16 times the second one's; the second
 *             one's
 *   s8        ones in the higher bytes of both halves
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
        "lw a0, 4(ra)\n"
        "lw a6, 8(ra)\n"
        "addi s0, a6, 32\n"
        "sw s0, 8(ra)\n"
        CHOOSE
        START("t4", "s1", "0", "8") START("s2", "s3", "4", "12") START("s4", "s5", "16", "24") START("s6", "s7", "20", "28")
        "lui s8, 0xff010\n"
        "addi s8, s8, -256\n"
        "li s9, 0\n"
        "li s10, 0\n"
        "li t0, 0\n"
        "li t1, 0\n"
        "li t2, 0\n"
        "li t3, 0\n"
        "lw a1, 0(ra)\n"
        "lw s11, 28(ra)\n"
        "sw zero, 32(sp)\n"
        GO
        "11:\n" /* the next piece */
        "lw a2, 0(s11)\n"
        "lw s0, 36(ra)\n"
        "add a2, a2, s0\n"
        "lw s0, 40(ra)\n"
        "add a5, a2, s0\n"
        "12:\n" /* what shares a word of breaks */
        "lw s0, 32(sp)\n"
        "bnez s0, 1f\n"
        "lw a4, 0(a0)\n"
        "addi a0, a0, 4\n"
        "li s0, 32\n"
        "1:\n"
        "add a3, a2, s0\n"
        "bgeu a5, a3, 1f\n"
        "mv a3, a5\n"
        "1:\n"
        "sub t5, a3, a2\n"
        "sub s0, s0, t5\n"
        "sw s0, 32(sp)\n"
        "andi t5, t5, 3\n"
        "beqz t5, 2f\n"
        "addi t5, t5, -4\n" /* the first ones of four are left out */
        "add a2, a2, t5\n"
        "slli s0, t5, 3\n"
        "add a1, a1, s0\n"
        "addi s0, t5, 2\n"
        "bltz s0, 5f\n"
        "beqz s0, 4f\n"
        "j 3f\n"
        "2:\n"
        STEP("0", "0", "4") END
        "3:\n"
        STEP("1", "8", "12") END
        "4:\n"
        STEP("2", "16", "20") END
        "5:\n"
        STEP("3", "24", "28") END
        "addi a1, a1, 32\n"
        "addi a2, a2, 4\n"
        "bne a2, a3, 2b\n");
    __asm__ volatile(
        "bne a2, a5, 12b\n"
        "addi s11, s11, 4\n"
        "lw s0, 32(ra)\n"
        "bne s11, s0, 11b\n"
        "jal t6, 8f\n"
        "j 9f\n");
#if KIBI_HALVES_OF_ZEROS
    __asm__ volatile(
        "13:\n" /* the next piece of small elements */
        "lw a2, 0(s11)\n"
        "lw s0, 36(ra)\n"
        "add a2, a2, s0\n"
        "lw s0, 40(ra)\n"
        "add a5, a2, s0\n"
        "andi s0, s0, 3\n"
        "beqz s0, 15f\n"
        "14:\n"
        SMALL_STEP("0", "0", "4")
        "addi a1, a1, 8\n"
        "addi a2, a2, 1\n"
        "sub s0, a5, a2\n"
        "andi s0, s0, 3\n"
        "bnez s0, 14b\n"
        "beq a2, a5, 16f\n");
    __asm__ volatile(
        "15:\n"
        SMALL_STEP("0", "0", "4") SMALL_STEP("1", "8", "12") SMALL_STEP("2", "16", "20") SMALL_STEP("3", "24", "28")
        "addi a1, a1, 32\n"
        "addi a2, a2, 4\n"
        "bne a2, a5, 15b\n"
        "16:\n"
        "addi s11, s11, 4\n"
        "lw s0, 32(ra)\n"
        "bne s11, s0, 13b\n"
        "jal t6, 8f\n"
        "j 9f\n");
#endif
    __asm__ volatile(
        "8:\n" /* sums of products end */
        "lui s0, 8\n"
        "add s10, s10, s0\n"
        "slli t5, s9, 7\n"
        "sub s0, s0, t5\n"
        "slli t5, s9, 23\n"
        "sub s0, s0, t5\n"
        PART("t0", "t1") PART("t2", "t3")
        SPLIT("t0", "t4", "s1") SPLIT("t1", "s2", "s3") SPLIT("t2", "s4", "s5") SPLIT("t3", "s6", "s7")
        "li s9, 0\n"
        "jr t6\n");
    __asm__ volatile(
        "9:\n" /* the sums are whole */
        "sw a1, 0(ra)\n"
        "sw a0, 4(ra)\n"
        STORE("t4", "s1", "0", "8") STORE("s2", "s3", "4", "12") STORE("s4", "s5", "16", "24") STORE("s6", "s7", "20", "28")
        "lw a1, 12(ra)\n"
        "lw a2, 16(ra)\n"
        "lw a3, 20(ra)\n"
        "lw a4, 24(ra)\n"
        "lw a5, 44(ra)\n"
        "lw a6, 48(ra)\n"
        "lw a7, 52(ra)\n"
        "mv t4, sp\n"
        "li s1, 8\n"
        "bgeu a4, s1, 2f\n"
        "mv s1, a4\n"
        "2:\n"
        "slli s1, s1, 2\n"
        "add s1, s1, sp\n"
        "1:\n"
        "lw t2, 0(t4)\n"
        "lw t3, 0(a1)\n"
        "slli t3, t3, 1\n"
        "lb s0, 0(a2)\n"
        "not s0, s0\n"
        "blez s0, 5f\n"
        "mulhsu t0, t2, t3\n"
        "mul t1, t2, t3\n"
        "srli t1, t1, 31\n"
        "add t0, t0, t1\n"
        "srai t1, t0, 31\n"
        "add t0, t0, t1\n"
        "sra t0, t0, s0\n"
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
        "addi t4, t4, 4\n"
        "bne t4, s1, 1b\n"
        "addi a4, a4, -8\n"
        "blez a4, 3f\n"
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
        "not t5, s0\n"
        "bgez t5, 2f\n"
        "li t5, 0\n"
        "2:\n"
        "sll t2, t2, t5\n"
        "mulhsu t0, t2, t3\n"
        "mul t1, t2, t3\n"
        "srli t1, t1, 31\n"
        "add t0, t0, t1\n"
        "bltz s0, 2f\n"
        "srai t1, t0, 31\n"
        "add t0, t0, t1\n"
        "addi t0, t0, 1\n"
        "srai t0, t0, 1\n"
        "2:\n"
        "srai t1, a5, 1\n"
        "add t0, t0, t1\n"
        "j 4b\n");
}
