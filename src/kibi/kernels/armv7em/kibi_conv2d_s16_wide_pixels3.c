/* Two channels of three pixels of a convolution of int16 from weights of 16 bits, Armv7E-M: the same instructions from every
 * compiler. */
#include "kibi_conv2d_s16_pixels.h"

/* Two elements of each pixel, times both channels' weights. */
#define TWO_OF(sum4, sum5, sum6, sum7, sum8, sum9)  \
    "ldm.w r0!, {r2, r10}\n"                        \
    "ldm.w r1!, {r3, r12, lr}\n"                    \
    "smlad r9, lr, r10, " sum9 "\n"                 \
    "smlad r8, lr, r2, " sum8 "\n"                  \
    "smlad r7, r12, r10, " sum7 "\n"                \
    "smlad r6, r12, r2, " sum6 "\n"                 \
    "smlad r5, r3, r10, " sum5 "\n"                 \
    "smlad r4, r3, r2, " sum4 "\n"
#define TWO TWO_OF("r4", "r5", "r6", "r7", "r8", "r9")

/* Four elements of each pixel: 64 bytes of instructions. */
#define GROUP TWO TWO
#define FROM_BIASES TWO_OF("r4", "r5", "r4", "r5", "r4", "r5") TWO

/* As KIBI_S16_PIXELS_BEGIN says, but that r11 is where the windows end, and sp + 20 is where the loop is entered. */
KIBI_NAKED __attribute__((aligned(4))) void kibi_conv2d_s16_wide_pixels3(KIBI_IN_REGISTER const kibi_conv2d_s16_pixels *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #40\n"
        "ldm r0, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11}\n"
        /* The loop has four fours: it is entered where as many are left as there are after whole iterations. */
        "and r6, r6, #3\n"
        "adr.w r12, 12f\n"
        "sub r6, r12, r6, lsl #6\n"
        "orr r6, r6, #1\n"
        "stm sp, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}\n"
        "mov r0, r11\n"
        "mov r11, r4\n"
        "10:\n" /* the next two channels */
        "ldrd r4, r5, [r0], #8\n"
        "ldr r1, [sp, #16]\n"
        FROM_BIASES
        "ldr pc, [sp, #20]\n"
        ".p2align 2\n"
        "11:\n"
        GROUP
        GROUP
        GROUP
        GROUP
        "12:\n"
        "cmp r1, r11\n"
        "bne 11b\n"
        KIBI_S16_PIXELS_END_OF_3);
}
