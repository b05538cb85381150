/* Two channels of two pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_pixels2.h"

#include "kibi_dsp.h"

#define STEP KIBI_PAIRS KIBI_PAIRS_PIXEL("r4", "r5") KIBI_PAIRS_PIXEL("r6", "r7")

KIBI_NAKED void kibi_conv2d_s8_pixels2(KIBI_IN_REGISTER const kibi_conv2d_s8_pixels *task)
{
    __asm__ volatile(
        KIBI_PIXELS_BEGIN("52")
        "mov r6, r4\n"
        "mov r7, r5\n"
        KIBI_PIXELS_LOOP
        ".rept 4\n" STEP ".endr\n"
        KIBI_PIXELS_LOOP_END
        KIBI_PIXELS_FINISH
        KIBI_FINISH_PIXEL("r4", "r5")
        KIBI_FINISH_PIXEL("r6", "r7")
        KIBI_PIXELS_FINISH_RELU
        KIBI_FINISH_PIXEL_OF_RELU("r4", "r5")
        KIBI_FINISH_PIXEL_OF_RELU("r6", "r7")
        KIBI_PIXELS_CLAMP
        KIBI_CUT_PIXEL("r4")
        KIBI_CUT_PIXEL("r6")
        KIBI_PIXELS_STORE
        "strh r6, [r1, r2]\n"
        KIBI_PIXELS_END);
}
