/* Two channels of three pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_block3.h"

#define STEP KIBI_WEIGHTS KIBI_PIXEL("r4", "r5") KIBI_PIXEL("r6", "r7") KIBI_PIXEL("r8", "r9")

__attribute__((naked)) void kibi_conv2d_s8_block3(KIBI_IN_REGISTER kibi_conv2d_s8_block *task)
{
    __asm__ volatile(
        KIBI_BEGIN("80")
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        KIBI_LOOP
        STEP STEP STEP STEP
        KIBI_LOOP_END
        KIBI_REQUANTIZE_PIXEL("r4", "r5")
        KIBI_REQUANTIZE_PIXEL("r6", "r7")
        KIBI_REQUANTIZE_PIXEL("r8", "r9")
        KIBI_CLAMPS
        KIBI_CLAMP_PIXEL("r4")
        KIBI_CLAMP_PIXEL("r6")
        KIBI_CLAMP_PIXEL("r8")
        KIBI_STORE
        "strh r6, [r1, r2]\n"
        "strh r8, [r1, r2, lsl #1]\n"
        KIBI_END);
}
