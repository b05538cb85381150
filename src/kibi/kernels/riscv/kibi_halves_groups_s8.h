/* The products of two groups of four elements in blocks of one to six pixels, RISC-V: pairs of pixels share a word of elements, and
 * an odd number has a last pixel alone. `kibi_halves_channels_s8.c` says what is in which register. */
#ifndef KIBI_HALVES_GROUPS_S8_H
#define KIBI_HALVES_GROUPS_S8_H

/* Both channels' weights of an element, at `first` and `second` of the group. */
#define WEIGHTS(first, second)      \
    "lb a6, " first "(a1)\n"        \
    "lb a7, " second "(a1)\n"

/* The first products of a word at `place` of the group: t of the first channel, u of the second one. */
#define BEGIN(place, t, u)          \
    "lw a0, " place "(a2)\n"        \
    "mul " t ", a6, a0\n"           \
    "mul " u ", a7, a0\n"

/* Further products. */
#define MORE(place, t, u)           \
    "lw a0, " place "(a2)\n"        \
    "mul t6, a6, a0\n"              \
    "mul a0, a7, a0\n"              \
    "add " t ", " t ", t6\n"        \
    "add " u ", " u ", a0\n"

/* Adds what a word of halves holds to the sums. The lower half may be below 0; 2**15 more makes the upper one whole. */
#define TAKE(t, both, second)                \
    "add " both ", " both ", " t "\n"       \
    "add " t ", " t ", a5\n"                \
    "srai " t ", " t ", 16\n"               \
    "add " second ", " second ", " t "\n"

#define CLEAR(t, u) "li " t ", 0\n" "li " u ", 0\n"

/* The registers of each word of an element. A pixel alone is added to its sum at once. */
#define BEGIN_0(place) BEGIN(place, "t0", "t1")
#define BEGIN_1(place) BEGIN(place, "t2", "t3")
#define BEGIN_2(place) BEGIN(place, "t4", "t5")
#define MORE_0(place) MORE(place, "t0", "t1")
#define MORE_1(place) MORE(place, "t2", "t3")
#define MORE_2(place) MORE(place, "t4", "t5")
#define ALONE_0(place) MORE(place, "s0", "s2")
#define ALONE_1(place) MORE(place, "s4", "s6")
#define ALONE_2(place) MORE(place, "s8", "s10")
#define TAKE_0 TAKE("t0", "s0", "s1") TAKE("t1", "s2", "s3")
#define TAKE_1 TAKE("t2", "s4", "s5") TAKE("t3", "s6", "s7")
#define TAKE_2 TAKE("t4", "s8", "s9") TAKE("t5", "s10", "s11")
#define CLEAR_0 CLEAR("t0", "t1")
#define CLEAR_1 CLEAR("t2", "t3")
#define CLEAR_2 CLEAR("t4", "t5")

/* Sums of four products that may not fit are taken out after two. The highest bit of a4 is that of the first of two groups. */
#define TEST_1 "bgez a4, 2f\n"
#define TEST_2 "slli t6, a4, 1\n" "bgez t6, 2f\n"
#define HALF(take, clear) take clear "2:\n"
#define HALF_0(test)
#define HALF_2(test) test HALF(TAKE_0, CLEAR_0)
#define HALF_4(test) test HALF(TAKE_0 TAKE_1, CLEAR_0 CLEAR_1)
#define HALF_6(test) test HALF(TAKE_0 TAKE_1 TAKE_2, CLEAR_0 CLEAR_1 CLEAR_2)

/* Two groups at a time; an odd number begins with the second one. */
#define ENTER(bytes)                \
    "sub t0, a3, a1\n"              \
    "andi t0, t0, 8\n"              \
    "beqz t0, 1f\n"                 \
    "addi a1, a1, -8\n"             \
    "addi a2, a2, " bytes "\n"      \
    "srli a4, a4, 1\n"              \
    "j 3f\n"                        \
    "1:\n"
#define END_GROUPS(bytes)           \
    "slli a4, a4, 2\n"              \
    "addi a1, a1, 16\n"             \
    "addi a2, a2, " bytes "\n"      \
    "bne a1, a3, 1b\n"              \
    "j 30f\n"
#define GROUPS_1(f0, m0, half, take)  \
    ENTER("-16")                      \
    WEIGHTS("0", "1") f0("0")         \
    WEIGHTS("2", "3") m0("4")         \
    half(TEST_1)                       \
    WEIGHTS("4", "5") m0("8")         \
    WEIGHTS("6", "7") m0("12")        \
    take                              \
    "3:\n"                            \
    WEIGHTS("8", "9") f0("16")        \
    WEIGHTS("10", "11") m0("20")      \
    half(TEST_2)                       \
    WEIGHTS("12", "13") m0("24")      \
    WEIGHTS("14", "15") m0("28")      \
    take                              \
    END_GROUPS("32")
#define GROUPS_2(f1, m1, half, take)           \
    ENTER("-32")                               \
    WEIGHTS("0", "1") BEGIN_0("0") f1("16")    \
    WEIGHTS("2", "3") MORE_0("4") m1("20")     \
    half(TEST_1)                                \
    WEIGHTS("4", "5") MORE_0("8") m1("24")     \
    WEIGHTS("6", "7") MORE_0("12") m1("28")    \
    take                                       \
    "3:\n"                                     \
    WEIGHTS("8", "9") BEGIN_0("32") f1("48")   \
    WEIGHTS("10", "11") MORE_0("36") m1("52")  \
    half(TEST_2)                                \
    WEIGHTS("12", "13") MORE_0("40") m1("56")  \
    WEIGHTS("14", "15") MORE_0("44") m1("60")  \
    take                                       \
    END_GROUPS("64")
#define GROUPS_3(f2, m2, half, take)                        \
    ENTER("-48")                                            \
    WEIGHTS("0", "1") BEGIN_0("0") BEGIN_1("16") f2("32")   \
    WEIGHTS("2", "3") MORE_0("4") MORE_1("20") m2("36")     \
    half(TEST_1)                                             \
    WEIGHTS("4", "5") MORE_0("8") MORE_1("24") m2("40")     \
    WEIGHTS("6", "7") MORE_0("12") MORE_1("28") m2("44")    \
    take                                                    \
    "3:\n"                                                  \
    WEIGHTS("8", "9") BEGIN_0("48") BEGIN_1("64") f2("80")  \
    WEIGHTS("10", "11") MORE_0("52") MORE_1("68") m2("84")  \
    half(TEST_2)                                             \
    WEIGHTS("12", "13") MORE_0("56") MORE_1("72") m2("88")  \
    WEIGHTS("14", "15") MORE_0("60") MORE_1("76") m2("92")  \
    take                                                    \
    END_GROUPS("96")

#endif
