/* Two channels of two pixels of a convolution of int16 from weights of 16 bits, Armv7E-M: the same instructions from every
 * compiler. */
#include "kibi_conv2d_s16_pixels.h"

/* Four elements of both pixels, times both channels' weights: of elements 0 and 1 in r2 and r9, of 2 and 3 in r10 and r11. */
#define FOUR(from0, from1)                  \
    "ldm r0!, {r2, r9, r10, r11}\n"         \
    "ldm r1!, {r3, r8, r12, lr}\n"          \
    "smlad r6, r8, r2, " from0 "\n"         \
    "smlad r7, r8, r9, " from1 "\n"         \
    "smlad r4, r3, r2, r4\n"                \
    "smlad r5, r3, r9, r5\n"                \
    "smlad r6, lr, r10, r6\n"               \
    "smlad r7, lr, r11, r7\n"               \
    "smlad r4, r12, r10, r4\n"              \
    "smlad r5, r12, r11, r5\n"

KIBI_NAKED void kibi_conv2d_s16_wide_pixels2(KIBI_IN_REGISTER const kibi_conv2d_s16_pixels *task)
{
    __asm__ volatile(KIBI_S16_PIXELS_OF_2(FOUR));
}
