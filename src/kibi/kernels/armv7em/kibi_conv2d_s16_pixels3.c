/* Two channels of three pixels of a convolution of int16, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s16_pixels.h"

#define GROUP KIBI_S16_WEIGHTS KIBI_S16_PIXEL("r4", "r5") KIBI_S16_PIXEL("r6", "r7") KIBI_S16_PIXEL("r8", "r9")

KIBI_NAKED void kibi_conv2d_s16_pixels3(KIBI_IN_REGISTER const kibi_conv2d_s16_pixels *task)
{
    __asm__ volatile(
        KIBI_S16_PIXELS_BEGIN
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        KIBI_S16_PIXELS_LOOP(GROUP, GROUP GROUP, "r2")
        KIBI_S16_PIXELS_FINISH
        KIBI_S16_FINISH_PIXEL("r4", "r5")
        KIBI_S16_NEXT_PIXEL
        KIBI_S16_FINISH_PIXEL("r6", "r7")
        KIBI_S16_NEXT_PIXEL
        KIBI_S16_FINISH_PIXEL("r8", "r9")
        KIBI_S16_PIXELS_END);
}
