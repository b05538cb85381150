/* Sums of products of floats of four channels, Armv7E-M; plain C without a floating-point unit. */
#include "kibi_dot_f32_4x1.h"

#include "kibi_dot_f32_fours.h"
#include "kibi_dsp.h"

#ifdef __ARM_FP
/* Registers and stack:
 *   r0         sums
 *   r1, r4     weights of the channels 0 and 1
 *   r5, r2     weights of the channels 2 and 3; before: stride
 *   r3         elements
 *   r12        where whole fours of elements end
 *   lr         where the elements end
 *   s0 … s3    the sums
 *   s4 … s15   elements and weights
 *   sp + 0     r4, r5, lr of the caller
 *   sp + 12    count: argument
 * Stack: 12 bytes. */
KIBI_NAKED void kibi_dot_f32_4x1(KIBI_IN_REGISTER float sums[KIBI_DOT_F32_CHANNELS], KIBI_IN_REGISTER const float *w,
                                 KIBI_IN_REGISTER int32_t stride, KIBI_IN_REGISTER const float *x,
                                 KIBI_IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, lr}\n"
        "ldr lr, [sp, #12]\n"
        "vldm r0, {s0-s3}\n"
        "add r4, r1, r2, lsl #2\n"
        "add r5, r1, r2, lsl #3\n"
        "add r2, r4, r2, lsl #3\n"
        "bic r12, lr, #3\n"
        "add lr, r3, lr, lsl #2\n"
        "tst r12, #4\n"
        "add r12, r3, r12, lsl #2\n"
        "bne 2f\n"
        "b 3f\n"
        "1:\n" KIBI_DOT_F32_FOUR_ELEMENTS /* two fours an iteration */
        "2:\n" KIBI_DOT_F32_FOUR_ELEMENTS /* enter with an odd number */
        "3:\n"
        "cmp r3, r12\n"
        "bne 1b\n"
        "b 5f\n"
        "4:\n" /* the next element */
        KIBI_DOT_F32_ONE_ELEMENT
        "5:\n"
        "cmp r3, lr\n"
        "bne 4b\n"
        "vstm r0, {s0-s3}\n"
        "pop {r4, r5, pc}\n");
}
#else
void kibi_dot_f32_4x1(float sums[KIBI_DOT_F32_CHANNELS], const float *w, int32_t stride, const float *x, int32_t count)
{
    for (int32_t channel = 0; channel < KIBI_DOT_F32_CHANNELS; ++channel) {
        sums[channel] = kibi_dot_f32(sums[channel], w + channel * stride, x, count);
    }
}
#endif
