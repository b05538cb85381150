/* Outputs of floats from sums, Armv7E-M: biases, and the activation's range. */
#ifndef KIBI_FINISH_F32_H
#define KIBI_FINISH_F32_H

#include "kibi_dsp.h"
#include "kibi_float.h"

enum { KIBI_ALL_FINITE, KIBI_FROM_ZERO, KIBI_ZERO_TO_HIGH, KIBI_ANY_RANGE };

/* Which way KIBI_FINISH_FOUR takes for a range: all finite numbers, from 0 on, from 0 to a number, any other. */
static inline int32_t kibi_kind_of_range(float low, float high)
{
    const int is_high = high >= -KIBI_LOWEST_F32;
    const int is_zero = low == 0.0f && 1.0f / low > 0.0f;
    if (is_zero && high >= 0.0f) {
        return is_high ? KIBI_FROM_ZERO : KIBI_ZERO_TO_HIGH;
    }
    return is_high && low <= KIBI_LOWEST_F32 ? KIBI_ALL_FINITE : KIBI_ANY_RANGE;
}

/* A number, cut to what s8 and s9 hold: a NaN stays. */
#define KIBI_CLAMP_F32(number)          \
    "vcmp.f32 " number ", s8\n"         \
    "vmrs APSR_nzcv, fpscr\n"           \
    "it mi\n"                           \
    "vmovmi.f32 " number ", s8\n"       \
    "vcmp.f32 " number ", s9\n"         \
    "vmrs APSR_nzcv, fpscr\n"           \
    "it gt\n"                           \
    "vmovgt.f32 " number ", s9\n"

/* Adds four biases from r2 on to the sums s0 … s3, cuts these to a range, and writes them from r1 on; both go on. r3: kind of range.
 * range: the address of low and high. Changes r3 … r7, r12, s4 … s9 and flags.
 * The sum of all four is finite if each of them is, or it exceeds the finite ones: only such outputs take the quick ways, which
 * compare numbers as integers. A sum from 0 on plus a bias is never -0. */
#define KIBI_FINISH_FOUR(range)         \
    "vldm r2!, {s4-s7}\n"               \
    "vadd.f32 s0, s0, s4\n"             \
    "vadd.f32 s1, s1, s5\n"             \
    "vadd.f32 s2, s2, s6\n"             \
    "vadd.f32 s3, s3, s7\n"             \
    "vadd.f32 s4, s0, s1\n"             \
    "vadd.f32 s5, s2, s3\n"             \
    "vadd.f32 s4, s4, s5\n"             \
    "vmov r12, s4\n"                    \
    "lsls r12, r12, #1\n"               \
    "cmp r12, #0xFF000000\n"            \
    "it hs\n"                           \
    "movhs r3, #3\n"                    \
    "cmp r3, #1\n"                      \
    "bcc 92f\n"                         \
    "vmov r4, r5, s0, s1\n"             \
    "vmov r6, r7, s2, s3\n"             \
    "bic r4, r4, r4, asr #31\n"         \
    "bic r5, r5, r5, asr #31\n"         \
    "bic r6, r6, r6, asr #31\n"         \
    "bic r7, r7, r7, asr #31\n"         \
    "beq 91f\n"                         \
    "ldr r12, " range "\n"              \
    "cmp r3, #2\n"                      \
    "bne 90f\n"                         \
    "ldr r3, [r12, #4]\n"               \
    "cmp r4, r3\n"                      \
    "it gt\n"                           \
    "movgt r4, r3\n"                    \
    "cmp r5, r3\n"                      \
    "it gt\n"                           \
    "movgt r5, r3\n"                    \
    "cmp r6, r3\n"                      \
    "it gt\n"                           \
    "movgt r6, r3\n"                    \
    "cmp r7, r3\n"                      \
    "it gt\n"                           \
    "movgt r7, r3\n"                    \
    "91:\n"                             \
    "stm r1!, {r4, r5, r6, r7}\n"       \
    "b 93f\n"                           \
    "90:\n" /* any range, any number */ \
    "vldm r12, {s8-s9}\n"               \
    KIBI_CLAMP_F32("s0")                \
    KIBI_CLAMP_F32("s1")                \
    KIBI_CLAMP_F32("s2")                \
    KIBI_CLAMP_F32("s3")                \
    "92:\n"                             \
    "vstm r1!, {s0-s3}\n"               \
    "93:\n"

#endif
