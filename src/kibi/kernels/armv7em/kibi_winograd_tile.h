/* Winograd's F(2,3): the part in assembly that blocks of any number of tiles share. */
#ifndef KIBI_WINOGRAD_TILE_H
#define KIBI_WINOGRAD_TILE_H

/* Four elements of two columns, whose pointers are at `place` on the stack, from byte r12 on: even and odd ones widened. */
#define KIBI_WINOGRAD_COLUMNS(place, even1, odd1, even2, odd2) \
    "ldrd " odd1 ", " odd2 ", [sp, #" place "]\n"    \
    "ldr " odd1 ", [" odd1 ", r12]\n"                \
    "ldr " odd2 ", [" odd2 ", r12]\n"                \
    "sxtb16 " even1 ", " odd1 "\n"                   \
    "sxtb16 " odd1 ", " odd1 ", ror #8\n"            \
    "sxtb16 " even2 ", " odd2 "\n"                   \
    "sxtb16 " odd2 ", " odd2 ", ror #8\n"

/* A tile of four widened columns; of the first two nothing is left. `store` puts even and odd elements into the plane of a register. */
#define KIBI_WINOGRAD_TILE(store, a, odd_a, b, odd_b, c, odd_c, d, odd_d) \
    "ssub16 " a ", " a ", " c "\n"                   \
    "ssub16 " odd_a ", " odd_a ", " odd_c "\n"       \
    store("r3", a, odd_a)                            \
    "sadd16 " a ", " b ", " c "\n"                   \
    "sadd16 " odd_a ", " odd_b ", " odd_c "\n"       \
    store("r0", a, odd_a)                            \
    "ssub16 " a ", " d ", " b "\n"                   \
    "ssub16 " odd_a ", " odd_d ", " odd_b "\n"       \
    store("r2", a, odd_a)                            \
    "ssub16 " b ", " c ", " b "\n"                   \
    "ssub16 " odd_b ", " odd_c ", " odd_b "\n"       \
    store("r1", b, odd_b)

/* Where each of four tiles of a group is: the even elements, and 16 bytes further the odd ones. */
#define KIBI_WINOGRAD_STORE_0(plane, even, odd) "str " even ", [" plane "]\n str " odd ", [" plane ", #16]\n"
#define KIBI_WINOGRAD_STORE_1(plane, even, odd) "str " even ", [" plane ", #4]\n str " odd ", [" plane ", #20]\n"
#define KIBI_WINOGRAD_STORE_2(plane, even, odd) "str " even ", [" plane ", #8]\n str " odd ", [" plane ", #24]\n"
#define KIBI_WINOGRAD_STORE_3(plane, even, odd) "str " even ", [" plane ", #12]\n str " odd ", [" plane ", #28]\n"

#endif
