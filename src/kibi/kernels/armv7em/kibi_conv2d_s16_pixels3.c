/* Two channels of three pixels of a convolution of int16, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s16_pixels.h"

/* Two elements of each pixel, times the weights of one channel. */
#define CHANNEL(weights, sum0, sum1, sum2, from0, from1, from2) \
    "smlad " sum2 ", lr, " weights ", " from2 "\n"              \
    "smlad " sum1 ", r12, " weights ", " from1 "\n"             \
    "smlad " sum0 ", r3, " weights ", " from0 "\n"
#define FIRST(weights) CHANNEL(weights, "r4", "r6", "r8", "r4", "r6", "r8")
#define SECOND(weights) CHANNEL(weights, "r5", "r7", "r9", "r5", "r7", "r9")

/* Four elements of each pixel: the words of both channels' weights widen in pairs (0, 2) and (1, 3), which hold the weights of
 * elements 0 and 1, and of 2 and 3. */
#define FOUR(first, second)             \
    "ldrd r10, r11, [r0], #8\n"         \
    "ldm r1!, {r3, r12, lr}\n"          \
    "sxtb16 r2, r10\n"                  \
    first                               \
    "sxtb16 r2, r11\n"                  \
    second                              \
    "ldm r1!, {r3, r12, lr}\n"          \
    "sxtb16 r10, r10, ror #8\n"         \
    "sxtb16 r11, r11, ror #8\n"         \
    FIRST("r10")                        \
    SECOND("r11")
#define FROM_BIASES \
    FOUR(CHANNEL("r2", "r4", "r6", "r8", "r4", "r4", "r4"), CHANNEL("r2", "r5", "r7", "r9", "r5", "r5", "r5"))
#define GROUP FOUR(FIRST("r2"), SECOND("r2"))

KIBI_NAKED void kibi_conv2d_s16_pixels3(KIBI_IN_REGISTER const kibi_conv2d_s16_pixels *task)
{
    __asm__ volatile(
        KIBI_S16_PIXELS_BEGIN
        /* The first four elements begin the sums of all pixels with the biases; then the loop is entered where as many are left as
         * there are after whole iterations. */
        FROM_BIASES
        "bcc 12f\n"
        "bmi 13f\n"
        "b 14f\n"
        "12:\n"
        "bmi 15f\n"
        "b 16f\n"
        "11:\n" /* sixteen elements */
        GROUP
        "13:\n"
        GROUP
        "14:\n"
        GROUP
        "15:\n"
        GROUP
        "16:\n"
        KIBI_S16_PIXELS_UNTIL_END("r2")
        KIBI_S16_PIXELS_END_OF_3);
}
