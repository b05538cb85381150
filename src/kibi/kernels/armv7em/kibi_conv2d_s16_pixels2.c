/* Two channels of two pixels of a convolution of int16, Armv7E-M: the same instructions from every compiler. */
#include "kibi_conv2d_s16_pixels.h"

/* Two elements of both pixels, times the weights of both channels. */
#define TWO(first_weights, second_weights, element0, element1, from0, from1)     \
    "smlad r6, " element1 ", " first_weights ", " from0 "\n"                     \
    "smlad r7, " element1 ", " second_weights ", " from1 "\n"                    \
    "smlad r4, " element0 ", " first_weights ", r4\n"                            \
    "smlad r5, " element0 ", " second_weights ", r5\n"

/* Four elements of both pixels: the words of both channels' weights widen in pairs (0, 2) and (1, 3), which hold the weights of
 * elements 0 and 1, and of 2 and 3. */
#define FOUR(from0, from1)                      \
    "ldrd r10, r11, [r0], #8\n"                 \
    "ldm r1!, {r3, r8, r12, lr}\n"              \
    "sxtb16 r2, r10\n"                          \
    "sxtb16 r9, r11\n"                          \
    "sxtb16 r10, r10, ror #8\n"                 \
    "sxtb16 r11, r11, ror #8\n"                 \
    TWO("r2", "r9", "r3", "r8", from0, from1)   \
    TWO("r10", "r11", "r12", "lr", "r6", "r7")

KIBI_NAKED void kibi_conv2d_s16_pixels2(KIBI_IN_REGISTER const kibi_conv2d_s16_pixels *task)
{
    __asm__ volatile(KIBI_S16_PIXELS_OF_2(FOUR));
}
