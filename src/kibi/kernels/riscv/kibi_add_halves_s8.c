/* Sums of products of int8 in the halves of words, RISC-V. */
#include "kibi_add_halves_s8.h"

#include "kibi_assembly.h"

/* Parts that only some layers need: blocks of so many pairs of pixels. */
#ifndef KIBI_ADD_HALVES_OF_1
#define KIBI_ADD_HALVES_OF_1 1
#endif
#ifndef KIBI_ADD_HALVES_OF_2
#define KIBI_ADD_HALVES_OF_2 1
#endif
#ifndef KIBI_ADD_HALVES_OF_3
#define KIBI_ADD_HALVES_OF_3 1
#endif

/* Both channels' weights of an element, at `first` and `second` of the group. */
#define WEIGHTS(first, second)      \
    "lb a6, " first "(a1)\n"        \
    "lb a7, " second "(a1)\n"

/* The first products of a pair's element, which is at `place` of the group: t of the first channel, u of the second one. */
#define BEGIN(place, t, u)          \
    "lw a0, " place "(a2)\n"        \
    "mul " t ", a6, a0\n"           \
    "mul " u ", a7, a0\n"

/* Further products. */
#define PRODUCTS(place, t, u)       \
    "lw a0, " place "(a2)\n"        \
    "mul t6, a6, a0\n"              \
    "mul a0, a7, a0\n"              \
    "add " t ", " t ", t6\n"        \
    "add " u ", " u ", a0\n"

/* Adds what a word of halves holds to the sums. The lower half may be below 0; 2**15 more makes the upper one whole. */
#define ADD(t, both, second)                \
    "add " both ", " both ", " t "\n"       \
    "add " t ", " t ", a5\n"                \
    "srai " t ", " t ", 16\n"               \
    "add " second ", " second ", " t "\n"

#define END_GROUP(bytes)            \
    "slli a4, a4, 1\n"              \
    "addi a1, a1, 8\n"              \
    "addi a2, a2, " bytes "\n"      \
    "bne a1, a3, 1b\n"

#define CLEAR(t, u) "li " t ", 0\n" "li " u ", 0\n"

/* The registers of each pair. */
#define BEGIN_0(place) BEGIN(place, "t0", "t1")
#define BEGIN_1(place) BEGIN(place, "t2", "t3")
#define BEGIN_2(place) BEGIN(place, "t4", "t5")
#define PRODUCTS_0(place) PRODUCTS(place, "t0", "t1")
#define PRODUCTS_1(place) PRODUCTS(place, "t2", "t3")
#define PRODUCTS_2(place) PRODUCTS(place, "t4", "t5")
#define ADD_0 ADD("t0", "s0", "s1") ADD("t1", "s2", "s3")
#define ADD_1 ADD("t2", "s4", "s5") ADD("t3", "s6", "s7")
#define ADD_2 ADD("t4", "s8", "s9") ADD("t5", "s10", "s11")

/* Sums of a channel and pair, from memory and back. */
#define LOAD(both, second, place, next)     \
    "lw " second ", " next "(a0)\n"         \
    "lw t0, " place "(a0)\n"                \
    "slli " both ", " second ", 16\n"       \
    "add " both ", " both ", t0\n"
#define STORE(both, second, place, next)    \
    "slli t0, " second ", 16\n"             \
    "sub " both ", " both ", t0\n"          \
    "sw " both ", " place "(a0)\n"          \
    "sw " second ", " next "(a0)\n"
#define MOVE_1(MOVE) MOVE("s0", "s1", "0", "4") MOVE("s2", "s3", "8", "12")
#define MOVE_2(MOVE)                                            \
    MOVE("s0", "s1", "0", "4") MOVE("s4", "s5", "8", "12")      \
    MOVE("s2", "s3", "16", "20") MOVE("s6", "s7", "24", "28")
#define MOVE_3(MOVE)                                            \
    MOVE("s0", "s1", "0", "4") MOVE("s4", "s5", "8", "12")      \
    MOVE("s8", "s9", "16", "20") MOVE("s2", "s3", "24", "28")   \
    MOVE("s6", "s7", "32", "36") MOVE("s10", "s11", "40", "44")

/* Sums that start from the biases. */
#define START_1                     \
    "lw s1, 0(a6)\n"                \
    "lw s3, 4(a6)\n"                \
    "slli s0, s1, 16\n"             \
    "add s0, s0, s1\n"              \
    "slli s2, s3, 16\n"             \
    "add s2, s2, s3\n"
#define START_2 START_1 "mv s4, s0\n" "mv s5, s1\n" "mv s6, s2\n" "mv s7, s3\n"
#define START_3 START_2 "mv s8, s0\n" "mv s9, s1\n" "mv s10, s2\n" "mv s11, s3\n"

/* Registers of the caller. */
#define KEEP_1(op) op " s0, 12(sp)\n" op " s1, 16(sp)\n" op " s2, 20(sp)\n" op " s3, 24(sp)\n"
#define KEEP_2(op) KEEP_1(op) op " s4, 28(sp)\n" op " s5, 32(sp)\n" op " s6, 36(sp)\n" op " s7, 40(sp)\n"
#define KEEP_3(op) KEEP_2(op) op " s8, 44(sp)\n" op " s9, 48(sp)\n" op " s10, 52(sp)\n" op " s11, 56(sp)\n"

#define ENTER(keep, start, move)        \
    "addi sp, sp, -64\n"                \
    keep("sw")                          \
    "sw a0, 8(sp)\n"                    \
    "slli a3, a3, 3\n"                  \
    "add a3, a3, a1\n"                  \
    "lui a5, 8\n"                       \
    "bnez a6, 9f\n"                     \
    move(LOAD)                          \
    "j 1f\n"                            \
    "9:\n"                              \
    start
#define LEAVE(keep, move)   \
    "lw a0, 8(sp)\n"        \
    move(STORE)             \
    keep("lw")              \
    "addi sp, sp, 64\n"     \
    "ret\n"

/* Registers and stack:
 *   a0        an element of two pixels; before: sums
 *   a1, a2    the group's weights and elements
 *   a3        end of the weights; before: count
 *   a4        flags
 *   a5        2**15
 *   a6, a7    weights of both channels; before: bias in a6
 *   t0 … t5   products in halves: of both channels and the first pair, then of the second and of the third one
 *   t6        a product
 *   s0 … s3   sums of the first pair: of the first channel, of both pixels and of the second one; then of the second channel
 *   s4 … s7   of the second pair
 *   s8 … s11  of the third pair
 *   sp + 8    sums
 *   sp + 12   s0 … s11 of the caller
 * Stack: 64 bytes. */
#if KIBI_ADD_HALVES_OF_1
static KIBI_NOINLINE KIBI_NAKED void add_1(KIBI_IN_REGISTER uint32_t *sums, KIBI_IN_REGISTER const int8_t *w,
                                      KIBI_IN_REGISTER const uint32_t *x, KIBI_IN_REGISTER int32_t count,
                                      KIBI_IN_REGISTER uint32_t flags, KIBI_IN_REGISTER int32_t pairs,
                                      KIBI_IN_REGISTER const int32_t *bias)
{
    __asm__ volatile(
        ENTER(KEEP_1, START_1, MOVE_1)
        "1:\n"
        WEIGHTS("0", "1") BEGIN_0("0")
        WEIGHTS("2", "3") PRODUCTS_0("4")
        "bgez a4, 2f\n"
        ADD_0 CLEAR("t0", "t1")
        "2:\n"
        WEIGHTS("4", "5") PRODUCTS_0("8")
        WEIGHTS("6", "7") PRODUCTS_0("12")
        ADD_0 END_GROUP("16")
        LEAVE(KEEP_1, MOVE_1));
}
#endif

#if KIBI_ADD_HALVES_OF_2
static KIBI_NOINLINE KIBI_NAKED void add_2(KIBI_IN_REGISTER uint32_t *sums, KIBI_IN_REGISTER const int8_t *w,
                                      KIBI_IN_REGISTER const uint32_t *x, KIBI_IN_REGISTER int32_t count,
                                      KIBI_IN_REGISTER uint32_t flags, KIBI_IN_REGISTER int32_t pairs,
                                      KIBI_IN_REGISTER const int32_t *bias)
{
    __asm__ volatile(
        ENTER(KEEP_2, START_2, MOVE_2)
        "1:\n"
        WEIGHTS("0", "1") BEGIN_0("0") BEGIN_1("4")
        WEIGHTS("2", "3") PRODUCTS_0("8") PRODUCTS_1("12")
        "bgez a4, 2f\n"
        ADD_0 ADD_1 CLEAR("t0", "t1") CLEAR("t2", "t3")
        "2:\n"
        WEIGHTS("4", "5") PRODUCTS_0("16") PRODUCTS_1("20")
        WEIGHTS("6", "7") PRODUCTS_0("24") PRODUCTS_1("28")
        ADD_0 ADD_1 END_GROUP("32")
        LEAVE(KEEP_2, MOVE_2));
}
#endif

#if KIBI_ADD_HALVES_OF_3
static KIBI_NOINLINE KIBI_NAKED void add_3(KIBI_IN_REGISTER uint32_t *sums, KIBI_IN_REGISTER const int8_t *w,
                                      KIBI_IN_REGISTER const uint32_t *x, KIBI_IN_REGISTER int32_t count,
                                      KIBI_IN_REGISTER uint32_t flags, KIBI_IN_REGISTER int32_t pairs,
                                      KIBI_IN_REGISTER const int32_t *bias)
{
    __asm__ volatile(
        ENTER(KEEP_3, START_3, MOVE_3)
        "1:\n"
        WEIGHTS("0", "1") BEGIN_0("0") BEGIN_1("4") BEGIN_2("8")
        WEIGHTS("2", "3") PRODUCTS_0("12") PRODUCTS_1("16") PRODUCTS_2("20")
        "bgez a4, 2f\n"
        ADD_0 ADD_1 ADD_2 CLEAR("t0", "t1") CLEAR("t2", "t3") CLEAR("t4", "t5")
        "2:\n"
        WEIGHTS("4", "5") PRODUCTS_0("24") PRODUCTS_1("28") PRODUCTS_2("32")
        WEIGHTS("6", "7") PRODUCTS_0("36") PRODUCTS_1("40") PRODUCTS_2("44")
        ADD_0 ADD_1 ADD_2 END_GROUP("48")
        LEAVE(KEEP_3, MOVE_3));
}
#endif

void kibi_add_halves_s8(uint32_t *sums, const int8_t *w, const uint32_t *x, int32_t count, uint32_t flags, int32_t pairs,
                        const int32_t *bias)
{
#if KIBI_ADD_HALVES_OF_3
    if (pairs == 3) {
        add_3(sums, w, x, count, flags, pairs, bias);
    }
#endif
#if KIBI_ADD_HALVES_OF_2
    if (pairs == 2) {
        add_2(sums, w, x, count, flags, pairs, bias);
    }
#endif
#if KIBI_ADD_HALVES_OF_1
    if (pairs == 1) {
        add_1(sums, w, x, count, flags, pairs, bias);
    }
#endif
}
