/* Two channels of two pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_block2.h"

#define STEP KIBI_WEIGHTS KIBI_PIXEL("r4", "r5") KIBI_PIXEL("r6", "r7")

__attribute__((naked)) void kibi_conv2d_s8_block2(KIBI_IN_REGISTER kibi_conv2d_s8_block *task)
{
    __asm__ volatile(
        KIBI_BEGIN("60")
        "mov r6, r4\n"
        "mov r7, r5\n"
        KIBI_LOOP
        STEP STEP STEP STEP
        KIBI_LOOP_END
        KIBI_REQUANTIZE_PIXEL("r4", "r5")
        KIBI_REQUANTIZE_PIXEL("r6", "r7")
        KIBI_CLAMPS
        KIBI_CLAMP_PIXEL("r4")
        KIBI_CLAMP_PIXEL("r6")
        KIBI_STORE
        "strh r6, [r1, r2]\n"
        KIBI_END);
}
