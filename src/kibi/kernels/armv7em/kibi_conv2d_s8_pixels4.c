/* Two channels of four pixels of a convolution, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s8_pixels4.h"

#include "kibi_dsp.h"

/* First the words of weights times the even elements of all pixels, then their second weights times the others: in the same
 * registers. */
#define PIXELS(a, b, c, d)                  \
    "ldrd r12, lr, [r1], #8\n"              \
    "smlad " a ", r12, r2, " a "\n"         \
    "smlad " b ", r12, r3, " b "\n"         \
    "smlad " c ", lr, r2, " c "\n"          \
    "smlad " d ", lr, r3, " d "\n"
#define ALL PIXELS("r4", "r5", "r6", "r7") PIXELS("r8", "r9", "r10", "r11")
#define STEP "ldrd r2, r3, [r0], #8\n" ALL "sxtb16 r2, r2\n sxtb16 r3, r3\n" ALL

KIBI_NAKED void kibi_conv2d_s8_pixels4(KIBI_IN_REGISTER const kibi_conv2d_s8_pixels *task)
{
    __asm__ volatile(
        KIBI_PIXELS_BEGIN("92")
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r4\n"
        "mov r11, r5\n"
        KIBI_PIXELS_LOOP
        ".rept 4\n" STEP ".endr\n"
        KIBI_PIXELS_LOOP_END
        KIBI_PIXELS_FINISH
        KIBI_FINISH_PIXEL("r4", "r5")
        KIBI_FINISH_PIXEL("r6", "r7")
        KIBI_FINISH_PIXEL("r8", "r9")
        KIBI_FINISH_PIXEL("r10", "r11")
        KIBI_PIXELS_FINISH_RELU
        KIBI_FINISH_PIXEL_OF_RELU("r4", "r5")
        KIBI_FINISH_PIXEL_OF_RELU("r6", "r7")
        KIBI_FINISH_PIXEL_OF_RELU("r8", "r9")
        KIBI_FINISH_PIXEL_OF_RELU("r10", "r11")
        KIBI_PIXELS_CLAMP
        KIBI_CUT_PIXEL("r4")
        KIBI_CUT_PIXEL("r6")
        KIBI_CUT_PIXEL("r8")
        KIBI_CUT_PIXEL("r10")
        KIBI_PIXELS_STORE
        "strh r6, [r1, r2]\n"
        "strh r8, [r1, r2, lsl #1]\n"
        "add r2, r2, r2, lsl #1\n"
        "strh r10, [r1, r2]\n"
        KIBI_PIXELS_END);
}
