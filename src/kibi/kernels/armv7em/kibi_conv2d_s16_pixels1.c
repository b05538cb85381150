/* Two channels of one pixel of a convolution of int16, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s16_pixels.h"

#define GROUP KIBI_S16_WEIGHTS KIBI_S16_PIXEL("r4", "r5")

/* A word of weights, times two words of elements. */
#define WORD(word, sum, first, second)              \
    "sxtb16 r2, " word "\n"                         \
    "sxtb16 " word ", " word ", ror #8\n"           \
    "smlad " sum ", " first ", r2, " sum "\n"       \
    "smlad " sum ", " second ", " word ", " sum "\n"

/* Eight elements. */
#define TWO_GROUPS                          \
    "ldm r0!, {r6, r7, r8, r9}\n"           \
    "ldm r1!, {r10, r11, r12, lr}\n"        \
    WORD("r6", "r4", "r10", "r11")          \
    WORD("r7", "r5", "r10", "r11")          \
    WORD("r8", "r4", "r12", "lr")           \
    WORD("r9", "r5", "r12", "lr")

KIBI_NAKED void kibi_conv2d_s16_pixels1(KIBI_IN_REGISTER const kibi_conv2d_s16_pixels *task)
{
    __asm__ volatile(
        KIBI_S16_PIXELS_BEGIN
        KIBI_S16_PIXELS_LOOP(GROUP, TWO_GROUPS, "r3")
        KIBI_S16_PIXELS_FINISH
        KIBI_S16_FINISH_PIXEL("r4", "r5")
        KIBI_S16_PIXELS_END);
}
