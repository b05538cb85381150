/* Units of SVDF that have one filter each, with a memory of int16, Armv7E-M. */
#include "kibi_svdf_units.h"

#include "kibi_svdf_unit.h"

/* Two elements move by one, and are weighted. */
#define TWO                         \
    "ldr r10, [r1, #2]\n"           \
    "ldr r11, [r2], #4\n"           \
    "str r10, [r1], #4\n"           \
    "smlad r9, r10, r11, r9\n"

KIBI_NAKED void kibi_svdf_units_s16(KIBI_IN_REGISTER kibi_svdf_units *task)
{
    __asm__ volatile(
        KIBI_SVDF_BEGIN("")
        "ssat r8, #16, r8\n"
        "tst r12, #2\n"
        "add r12, r1, r12, lsl #1\n"
        "sub r12, r12, #4\n"
        "beq 3f\n" /* an odd number of pairs moves */
        "2:\n" TWO /* two pairs an iteration */
        "3:\n" TWO
        "cmp r1, r12\n"
        "bne 2b\n"
        "ldrh r10, [r1, #2]\n"
        "ldr r11, [r2], #4\n"
        "pkhbt r10, r10, r8, lsl #16\n"
        "str r10, [r1], #4\n"
        "smlad r9, r10, r11, r9\n"
        KIBI_SVDF_END);
}
