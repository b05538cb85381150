/* Two channels of one pixel of a convolution of int16, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s16_pixels.h"

/* A word of weights, times two words of elements: it widens in pairs (0, 2) and (1, 3), which hold the weights of elements 0 and 1,
 * and of 2 and 3. */
#define WORD(word, sum, first, second)              \
    "sxtb16 r2, " word "\n"                         \
    "sxtb16 " word ", " word ", ror #8\n"           \
    "smlad " sum ", " first ", r2, " sum "\n"       \
    "smlad " sum ", " second ", " word ", " sum "\n"

/* Four elements. */
#define GROUP                               \
    "ldm r0!, {r6, r7}\n"                   \
    "ldm r1!, {r10, r11}\n"                 \
    WORD("r6", "r4", "r10", "r11")          \
    WORD("r7", "r5", "r10", "r11")

/* Eight elements. */
#define TWO_GROUPS                          \
    "ldm r0!, {r6, r7, r8, r9}\n"           \
    "ldm r1!, {r10, r11, r12, lr}\n"        \
    WORD("r6", "r4", "r10", "r11")          \
    WORD("r7", "r5", "r10", "r11")          \
    WORD("r8", "r4", "r12", "lr")           \
    WORD("r9", "r5", "r12", "lr")

#define OUTPUTS(cut)                        \
    cut("r4", "r5")                         \
    "str r4, [r12], #4\n"

KIBI_NAKED void kibi_conv2d_s16_pixels1(KIBI_IN_REGISTER const kibi_conv2d_s16_pixels *task)
{
    __asm__ volatile(
        KIBI_S16_PIXELS_BEGIN
        "bmi 12f\n"
        GROUP
        "b 12f\n"
        "11:\n"
        TWO_GROUPS
        "12:\n"
        KIBI_S16_PIXELS_UNTIL_END("r3")
        KIBI_S16_PIXELS_FINISH
        KIBI_S16_SCALE("r4", "r5")
        KIBI_S16_RELU(OUTPUTS(KIBI_S16_NOT_NEGATIVE_CUT))
        KIBI_S16_ALL(OUTPUTS(KIBI_S16_ALL_CUT))
        KIBI_S16_RANGES(OUTPUTS(KIBI_S16_CUT_TO_RANGE))
        KIBI_S16_PIXELS_END);
}
