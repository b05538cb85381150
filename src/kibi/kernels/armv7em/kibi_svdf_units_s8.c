/* Units of SVDF that have one filter each, with a memory of int8, Armv7E-M. */
#include "kibi_svdf_units.h"

#include "kibi_svdf_unit.h"

/* The products of four elements that are kept in r10 with their weights in r11. */
#define WEIGH_FOUR                      \
    "sxtb16 r4, r11\n"                  \
    "sxtab16 r5, lr, r10\n"             \
    "sxtb16 r11, r11, ror #8\n"         \
    "sxtab16 r10, lr, r10, ror #8\n"    \
    "smlad r9, r4, r5, r9\n"            \
    "smlad r9, r11, r10, r9\n"

KIBI_NAKED void kibi_svdf_units_s8(KIBI_IN_REGISTER kibi_svdf_units *task)
{
    __asm__ volatile(
        KIBI_SVDF_BEGIN("ldr lr, [r0, #48]\n"
                        "rsb lr, lr, #0\n"
                        "pkhbt lr, lr, lr, lsl #16\n")
        "ssat r8, #8, r8\n"
        "add r12, r1, r12\n"
        "sub r8, r8, lr\n" /* of which the lowest byte counts: the zero point is added */
        "subs r12, r12, #4\n"
        "2:\n" /* the next four move by one */
        "ldr r10, [r1, #1]\n"
        "ldr r11, [r2], #4\n"
        "str r10, [r1], #4\n"
        WEIGH_FOUR
        "cmp r1, r12\n"
        "bne 2b\n"
        "ldr r10, [r1]\n"
        "ldr r11, [r2], #4\n"
        "lsr r10, r10, #8\n"
        "orr r10, r10, r8, lsl #24\n"
        "str r10, [r1], #4\n"
        WEIGH_FOUR
        KIBI_SVDF_END);
}
