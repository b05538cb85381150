/* Sums of products of int8 from words of two channels and two elements, RISC-V. */
#include "kibi_add_vector_halves_s8.h"

#include "kibi_assembly.h"

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

/* Adds what a word of halves holds to the sums: t4 takes away what 128 more in each weight has added, and makes the lower half one
 * without a sign. */
#define SPLIT(t, both, second)                  \
    "add " t ", " t ", t4\n"                    \
    "add " both ", " both ", " t "\n"           \
    "srai " t ", " t ", 16\n"                   \
    "add " second ", " second ", " t "\n"       \
    "li " t ", 0\n"

#define LOAD(both, second, place, next)     \
    "lw " second ", " next "(a5)\n"         \
    "lw t0, " place "(a5)\n"                \
    "slli " both ", " second ", 16\n"       \
    "add " both ", " both ", t0\n"
#define STORE(both, second, place, next)    \
    "slli t0, " second ", 16\n"             \
    "sub " both ", " both ", t0\n"          \
    "sub " both ", " both ", s10\n"         \
    "sw " both ", " place "(a0)\n"          \
    "sw " second ", " next "(a0)\n"
#define MOVE(each) \
    each("s0", "s1", "0", "4") each("s2", "s3", "8", "12") each("s4", "s5", "16", "20") each("s6", "s7", "24", "28")
#define KEEP(op)                                                                                \
    op " s0, 0(sp)\n" op " s1, 4(sp)\n" op " s2, 8(sp)\n" op " s3, 12(sp)\n"                    \
    op " s4, 16(sp)\n" op " s5, 20(sp)\n" op " s6, 24(sp)\n" op " s7, 28(sp)\n"                 \
    op " s8, 32(sp)\n" op " s9, 36(sp)\n" op " s10, 40(sp)\n"

/* Registers and stack:
 *   a0        sums
 *   a1, a2    the step's weights and elements
 *   a3        end of the elements; before: steps
 *   a4        flags
 *   a5        where the sums start from: bias, or sums
 *   a6, a7    the first element; 2**24 times the second one
 *   t0 … t3   products in halves, of each pair of channels
 *   t4 … t6   free
 *   s0 … s7   sums: of each pair of channels, those of the first one plus 2**16 times those of the second one; of the second one
 *   s8        ones in the lowest bytes of both halves
 *   s9        the sum of the elements since sums of products ended
 *   s10       2**15 for each time they ended
 *   sp + 0    s0 … s10 of the caller
 * Stack: 48 bytes. */
KIBI_NAKED void kibi_add_vector_halves_s8(KIBI_IN_REGISTER uint32_t sums[8], KIBI_IN_REGISTER const int32_t *w,
                                          KIBI_IN_REGISTER const int8_t *x, KIBI_IN_REGISTER int32_t steps,
                                          KIBI_IN_REGISTER uint32_t flags, KIBI_IN_REGISTER const int32_t *bias)
{
    __asm__ volatile(
        "addi sp, sp, -48\n"
        KEEP("sw")
        "bnez a5, 1f\n"
        "mv a5, a0\n"
        "1:\n"
        MOVE(LOAD)
        "slli a3, a3, 1\n"
        "add a3, a3, a2\n"
        "lui s8, 0xff0\n"
        "addi s8, s8, 0xff\n"
        "li s9, 0\n"
        "li s10, 0\n"
        "li t0, 0\n"
        "li t1, 0\n"
        "li t2, 0\n"
        "li t3, 0\n"
        "2:\n" /* the next two elements */
        "lb a6, 0(a2)\n"
        "lb a7, 1(a2)\n"
        "add s9, s9, a6\n"
        "add s9, s9, a7\n"
        "slli a7, a7, 24\n"
        PAIR("0", "t0") PAIR("4", "t1") PAIR("8", "t2") PAIR("12", "t3")
        "addi a1, a1, 16\n"
        "addi a2, a2, 2\n"
        "bltz a4, 3f\n"
        "slli a4, a4, 1\n"
        "bne a2, a3, 2b\n"
        "3:\n" /* sums of products end: at the end once more, if they have ended there */
        "lui t4, 8\n"
        "add s10, s10, t4\n"
        "slli t5, s9, 7\n"
        "sub t4, t4, t5\n"
        "slli t5, s9, 23\n"
        "sub t4, t4, t5\n"
        SPLIT("t0", "s0", "s1") SPLIT("t1", "s2", "s3") SPLIT("t2", "s4", "s5") SPLIT("t3", "s6", "s7")
        "li s9, 0\n"
        "slli a4, a4, 1\n"
        "bne a2, a3, 2b\n"
        MOVE(STORE)
        KEEP("lw")
        "addi sp, sp, 48\n"
        "ret\n");
}
