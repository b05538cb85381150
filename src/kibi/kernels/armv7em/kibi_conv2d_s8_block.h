/* Blocks of two channels of a convolution, Armv7E-M: what they are made from, and the parts that all sizes share. */
#ifndef KIBI_CONV2D_S8_BLOCK_H
#define KIBI_CONV2D_S8_BLOCK_H

#include "kibi.h"

#if !defined(__ARM_FEATURE_DSP)
#error "this file was generated for a core with the DSP extension: compile for that core, or generate for another target"
#endif

/* The windows of neighbouring pixels and the channels to compute of them; kernels in assembly know where each field lies. */
typedef struct {
    const int32_t *channels; /* as in kibi_conv2d_s8_blocks_params; behind the last pair of channels afterwards */
    int8_t *output;          /* of the first pixel; behind its last channel afterwards */
    int32_t output_channels; /* bytes from there to the second pixel's, and from that to the third's */
    const int8_t *end;       /* where the first pixel's last channel ends: at least one pair of channels */
    int32_t rounding;        /* twice the output's zero point, plus 1 */
    int32_t clamps;          /* 0: the activation's range is that of int8 */
    uint32_t low;            /* the activation's range, in each byte */
    uint32_t high;
    const int32_t *filter;
    int16_t *windows;        /* [groups][pixels][4]: of each four elements first the even, then the odd ones */
    const int16_t *windows_end;
    int32_t groups;
} kibi_conv2d_s8_block;

/* Parameters are read from their registers, which the compiler does not see. */
#define KIBI_IN_REGISTER __attribute__((unused))

/* Every instruction of a step has four bytes, so that loops can be entered at any of their steps. r0: weights, r1: windows,
 * r4 … r9: the sums, of both channels of each pixel in turn. Bytes widen in pairs (0, 2) and (1, 3). */
#define KIBI_WEIGHTS                \
    "ldrd r10, r11, [r0], #8\n"     \
    "sxtb16 r2, r10\n"              \
    "sxtb16 r3, r11\n"              \
    "sxtb16 r10, r10, ror #8\n"     \
    "sxtb16 r11, r11, ror #8\n"

#define KIBI_PIXEL(first, second)                    \
    "ldrd r12, lr, [r1], #8\n"                       \
    "smlad " first ", r12, r2, " first "\n"          \
    "smlad " second ", r12, r3, " second "\n"        \
    "smlad " first ", lr, r10, " first "\n"          \
    "smlad " second ", lr, r11, " second "\n"

/* Saves registers; on the stack: the task, where the windows end and begin, and where the loop is entered, so that the last
 * of its four steps is the last group. */
#define KIBI_BEGIN(step_bytes)                       \
    ".syntax unified\n"                              \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"  \
    "sub sp, sp, #20\n"                              \
    "ldrd r2, r1, [r0, #36]\n"                       \
    "ldr r3, [r0, #44]\n"                            \
    "rsb r3, r3, #0\n"                               \
    "and r3, r3, #3\n"                               \
    "mov r4, #" step_bytes "\n"                      \
    "mul r3, r3, r4\n"                               \
    "adr r4, 11f\n"                                  \
    "add r3, r3, r4\n"                               \
    "orr r3, r3, #1\n"                               \
    "strd r0, r1, [sp]\n"                            \
    "strd r2, r3, [sp, #8]\n"                        \
    "ldr r0, [r0, #32]\n"                            \
    "10:\n"                                          \
    "ldr r12, [sp]\n"                                \
    "ldr r12, [r12]\n"                               \
    "ldrd r4, r5, [r12]\n"                           \
    "ldr r1, [sp, #8]\n"

/* Enters the loop; between this and KIBI_LOOP_END four steps. */
#define KIBI_LOOP                                    \
    "ldr pc, [sp, #12]\n"                            \
    ".p2align 2\n"                                   \
    "11:\n"

/* Ends the loop, then takes the constants of both channels: multipliers to r10 and r11, exponents to r2 and lr, what is added
 * to r3. */
#define KIBI_LOOP_END                                \
    "ldr r12, [sp, #4]\n"                            \
    "cmp r1, r12\n"                                  \
    "bne 11b\n"                                      \
    "ldr r12, [sp]\n"                                \
    "ldr r1, [r12]\n"                                \
    "ldrd r10, r11, [r1, #8]\n"                      \
    "ldr r2, [r1, #16]\n"                            \
    "add r1, r1, #20\n"                              \
    "str r1, [r12]\n"                                \
    "ldr r3, [r12, #16]\n"                           \
    "lsr lr, r2, #8\n"

/* The high half of 2 * sum * multiplier, rounded half up; 1 is taken from what is negative, so that half up is half away from
 * zero; all bits but the last are shifted out, which goes after half of it was added, and with it twice the zero point. */
#define KIBI_REQUANTIZE_ONE(sum, multiplier, exponent)      \
    "lsl " sum ", " sum ", #1\n"                            \
    "smmulr " sum ", " sum ", " multiplier "\n"             \
    "add " sum ", " sum ", " sum ", asr #31\n"              \
    "asr " sum ", " sum ", " exponent "\n"                  \
    "qadd " sum ", " sum ", r3\n"                           \
    "ssat " sum ", #8, " sum ", asr #1\n"

/* Both channels of a pixel, packed into the first one's register. */
#define KIBI_REQUANTIZE_PIXEL(first, second)                \
    KIBI_REQUANTIZE_ONE(first, "r10", "r2")                 \
    KIBI_REQUANTIZE_ONE(second, "r11", "lr")                \
    "bfi " first ", " second ", #8, #8\n"

/* Cuts packed channels to low … high, which r10 and r11 hold in each byte. */
#define KIBI_CLAMP_PIXEL(packed)                            \
    "ssub8 r2, " packed ", r10\n"                           \
    "sel " packed ", " packed ", r10\n"                     \
    "ssub8 r2, r11, " packed "\n"                           \
    "sel " packed ", " packed ", r11\n"

/* Takes the range from the task; goes on at 13 where nothing is to be cut, and then the output to r1, the distance to r2. */
#define KIBI_CLAMPS                                         \
    "ldr r1, [r12, #20]\n"                                  \
    "cmp r1, #0\n"                                          \
    "beq 13f\n"                                             \
    "ldrd r10, r11, [r12, #24]\n"

#define KIBI_STORE                                          \
    "13:\n"                                                 \
    "ldr r1, [r12, #4]\n"                                   \
    "ldrd r2, r3, [r12, #8]\n"

#define KIBI_END                                            \
    "strh r4, [r1], #2\n"                                   \
    "str r1, [r12, #4]\n"                                   \
    "cmp r1, r3\n"                                          \
    "bne.w 10b\n"                                           \
    "add sp, sp, #20\n"                                     \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

#endif
