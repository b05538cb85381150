/* Four channels of a depthwise convolution, Armv7E-M: the pieces that its kernels in assembly are made of.
 *
 * Registers: r4 … r7 the sums of four channels, r8 the packed constants, r9 … r12 and lr free. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_BLOCK_H
#define KIBI_DEPTHWISE_CONV2D_S8_BLOCK_H

#include "kibi_dsp.h"

/* Two taps, four channels of each in r9 and r10: the halves change places so that bytes widen to both taps of a channel. */
#define KIBI_TWO_TAPS                    \
    "pkhbt r11, r9, r10, lsl #16\n"      \
    "pkhtb r10, r10, r9, asr #16\n"      \
    "ldrd r12, lr, [r8], #8\n"           \
    "sxtb16 r9, r11\n"                   \
    "sxtb16 r11, r11, ror #8\n"          \
    "smlad r4, r9, r12, r4\n"            \
    "smlad r5, r11, lr, r5\n"            \
    "ldrd r12, lr, [r8], #8\n"           \
    "sxtb16 r9, r10\n"                   \
    "sxtb16 r10, r10, ror #8\n"          \
    "smlad r6, r9, r12, r6\n"            \
    "smlad r7, r10, lr, r7\n"

/* One tap, four channels in r9. */
#define KIBI_ONE_TAP                     \
    "ldrd r12, lr, [r8], #8\n"           \
    "sxtb16 r10, r9\n"                   \
    "sxtb16 r9, r9, ror #8\n"            \
    "smlabb r4, r10, r12, r4\n"          \
    "smlatt r6, r10, r12, r6\n"          \
    "smlabb r5, r9, lr, r5\n"            \
    "smlatt r7, r9, lr, r7\n"

/* The same where every tap is what both halves of r9 hold; `first` and `second` address the weights. */
#define KIBI_TWO_TAPS_OUTSIDE(first, second) \
    "ldrd r12, lr, [r8" first "\n"       \
    "smlad r4, r9, r12, r4\n"            \
    "smlad r5, r9, lr, r5\n"             \
    "ldrd r12, lr, [r8" second "\n"      \
    "smlad r6, r9, r12, r6\n"            \
    "smlad r7, r9, lr, r7\n"

#define KIBI_ONE_TAP_OUTSIDE(first)      \
    "ldrd r12, lr, [r8" first "\n"       \
    "smlabb r4, r9, r12, r4\n"           \
    "smlatt r6, r9, r12, r6\n"           \
    "smlabb r5, r9, lr, r5\n"            \
    "smlatt r7, r9, lr, r7\n"

/* The true sums, multiplied, in r9 … r12. Sums are 256 times the true ones, plus what these are to be shifted by, but for the last
 * bit: a shift by a register looks at its lowest byte alone. */
#define KIBI_MULTIPLY_BLOCK              \
    "ldm r8!, {r9, r10, r11, r12}\n"     \
    "asr lr, r4, #7\n"                   \
    "smmulr r9, lr, r9\n"                \
    "asr lr, r5, #7\n"                   \
    "smmulr r10, lr, r10\n"              \
    "asr lr, r6, #7\n"                   \
    "smmulr r11, lr, r11\n"              \
    "asr lr, r7, #7\n"                   \
    "smmulr r12, lr, r12\n"

#define KIBI_SHIFT_BLOCK                 \
    "asr r4, r9, r4\n"                   \
    "asr r5, r10, r5\n"                  \
    "asr r6, r11, r6\n"                  \
    "asr r7, r12, r7\n"

/* The four outputs in r4; the registers then hold what the stack begins with, r9 twice the output's zero point plus 1. 1 is taken
 * from what is negative, so that half up is half away from zero; all bits but the last are shifted out, and that one goes with
 * half of it and the zero point; that sum saturates as it may. */
#define KIBI_REQUANTIZE_BLOCK(registers) \
    KIBI_MULTIPLY_BLOCK                  \
    "add r9, r9, r9, asr #31\n"          \
    "add r10, r10, r10, asr #31\n"       \
    "add r11, r11, r11, asr #31\n"       \
    "add r12, r12, r12, asr #31\n"       \
    KIBI_SHIFT_BLOCK                     \
    "ldm sp, {" registers "}\n"          \
    "qadd r4, r4, r9\n"                  \
    "qadd r5, r5, r9\n"                  \
    "qadd r6, r6, r9\n"                  \
    "qadd r7, r7, r9\n"                  \
    "ssat r4, #8, r4, asr #1\n"          \
    "ssat r5, #8, r5, asr #1\n"          \
    "ssat r6, #8, r6, asr #1\n"          \
    "ssat r7, #8, r7, asr #1\n"          \
    "bfi r4, r5, #8, #8\n"               \
    "bfi r4, r6, #16, #8\n"              \
    "bfi r4, r7, #24, #8\n"

/* The same where outputs are rounded once: sums are 256 times the true ones plus an addend, r9 … r12 factors, and the stack's second word
 * the output's zero point with a fraction of 8 bits, which is cut off. */
#define KIBI_REQUANTIZE_BLOCK_ONCE(registers) \
    "ldm r8!, {r9, r10, r11, r12}\n"     \
    "ldr lr, [sp, #4]\n"                 \
    "smmla r4, r4, r9, lr\n"             \
    "smmla r5, r5, r10, lr\n"            \
    "smmla r6, r6, r11, lr\n"            \
    "smmla r7, r7, r12, lr\n"            \
    "ldm sp, {" registers "}\n"          \
    "ssat r4, #8, r4, asr #8\n"          \
    "ssat r5, #8, r5, asr #8\n"          \
    "ssat r6, #8, r6, asr #8\n"          \
    "ssat r7, #8, r7, asr #8\n"          \
    "bfi r4, r5, #8, #8\n"               \
    "bfi r4, r6, #16, #8\n"              \
    "bfi r4, r7, #24, #8\n"

#endif
