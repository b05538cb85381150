/* Outputs of neighbouring pixels of a depthwise convolution three by three, Armv8.1-M with MVE: sixteen channels in lanes. */
#include "kibi_vector_taps_s8.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

/* Parts that only some layers need: outputs that are rounded once, and such that are not; of these, outputs that are below the zero
 * point, and bounds within int8. */
#ifndef KIBI_VECTOR_TAPS_ONCE
#define KIBI_VECTOR_TAPS_ONCE 1
#endif
#ifndef KIBI_VECTOR_TAPS_TWICE
#define KIBI_VECTOR_TAPS_TWICE 1
#endif
#ifndef KIBI_VECTOR_TAPS_ROUNDED_AWAY
#define KIBI_VECTOR_TAPS_ROUNDED_AWAY 1
#endif
#ifndef KIBI_VECTOR_TAPS_OF_CLAMPS
#define KIBI_VECTOR_TAPS_OF_CLAMPS 1
#endif

KIBI_FIELD_AT(kibi_vector_taps, taps, 0);
KIBI_FIELD_AT(kibi_vector_taps, output, 36);
KIBI_FIELD_AT(kibi_vector_taps, constants, 40);
KIBI_FIELD_AT(kibi_vector_taps, channels, 44);
KIBI_FIELD_AT(kibi_vector_taps, advance, 48);
KIBI_FIELD_AT(kibi_vector_taps, output_advance, 52);
KIBI_FIELD_AT(kibi_vector_taps, pixels, 56);
KIBI_FIELD_AT(kibi_vector_taps, zero_point, 60);
KIBI_FIELD_AT(kibi_vector_taps, low, 64);
KIBI_FIELD_AT(kibi_vector_taps, high, 80);

/* The products of a tap, 16 bits each: of even channels in q2, of odd ones in q0. */
#define TAP(x)                              \
    "vldrb.8 q0, [" x "], #16\n"            \
    "vldrb.8 q1, [r7], #16\n"               \
    "vmullb.s8 q2, q0, q1\n"                \
    "vmullt.s8 q0, q0, q1\n"

/* Adds those of another tap: two products have 16 bits, because no weight is -128. No register is left for the second weights, so
 * they are loaded twice. */
#define ADD_TAP(x)                          \
    "vldrb.8 q1, [" x "], #16\n"            \
    "vldrb.8 q3, [r7]\n"                    \
    "vmullb.s8 q3, q1, q3\n"                \
    "vadd.i16 q2, q2, q3\n"                 \
    "vldrb.8 q3, [r7], #16\n"               \
    "vmullt.s8 q1, q1, q3\n"                \
    "vadd.i16 q0, q0, q1\n"

/* Adds products of 16 bits to the sums. */
#define ADD                                 \
    "vmovlb.s16 q1, q2\n"                   \
    "vadd.i32 q4, q4, q1\n"                 \
    "vmovlt.s16 q2, q2\n"                   \
    "vadd.i32 q6, q6, q2\n"                 \
    "vmovlb.s16 q1, q0\n"                   \
    "vadd.i32 q5, q5, q1\n"                 \
    "vmovlt.s16 q0, q0\n"                   \
    "vadd.i32 q7, q7, q0\n"

/* Below zero, half up is half away from zero after 1 was taken away. */
#if KIBI_VECTOR_TAPS_ROUNDED_AWAY
#define AWAY(sums)                          \
    "vshr.s32 q2, " sums ", #31\n"          \
    "vadd.i32 " sums ", " sums ", q2\n"
#else
#define AWAY(sums) ""
#endif
#define SCALE(sums)                         \
    "vldrw.32 q0, [r7], #16\n"              \
    "vldrb.s32 q1, [r7], #4\n"              \
    "vqrdmulh.s32 " sums ", " sums ", q0\n" \
    AWAY(sums)                              \
    "vrshl.s32 " sums ", " sums ", q1\n"

#if KIBI_VECTOR_TAPS_OF_CLAMPS
#define CLAMP                               \
    "vldrh.16 q0, [r11, #64]\n"             \
    "vldrh.16 q1, [r11, #80]\n"             \
    "vmax.s16 q4, q4, q0\n"                 \
    "vmax.s16 q5, q5, q0\n"                 \
    "vmin.s16 q4, q4, q1\n"                 \
    "vmin.s16 q5, q5, q1\n"
#else
#define CLAMP ""
#endif

/* Adds products of 16 bits to the sums, 256-fold. */
#define ADD_SCALED                          \
    "vshllb.s16 q1, q2, #8\n"               \
    "vadd.i32 q4, q4, q1\n"                 \
    "vshllt.s16 q2, q2, #8\n"               \
    "vadd.i32 q6, q6, q2\n"                 \
    "vshllb.s16 q1, q0, #8\n"               \
    "vadd.i32 q5, q5, q1\n"                 \
    "vshllt.s16 q0, q0, #8\n"               \
    "vadd.i32 q7, q7, q0\n"

/* Narrows a product to 16 bits; by the rounding form alone: binutils 2.40 assembles the other one as it. */
#define SCALE_ONCE(sums, half, to)          \
    "vldrw.32 q0, [r7], #16\n"              \
    "vqdmulh.s32 " sums ", " sums ", q0\n"  \
    "vqrshrn" half ".s32 " to ", " sums ", #12\n"

/* A pixel's loop over its channels: the sums, and the outputs of both halves of 16 bits in q4 and q5. */
#define PIXELS(add, scale)                  \
    ".syntax unified\n"                     \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n" \
    "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
    "mov r11, r0\n"                         \
    "ldrd r8, r9, [r11, #28]\n"             \
    "ldr r10, [r11, #36]\n"                 \
    "ldr r12, [r11, #60]\n"                 \
    "ldm r11, {r0, r1, r2, r3, r4, r5, r6}\n" \
    "1:\n"                                  \
    "ldrd r7, lr, [r11, #40]\n"             \
    "dlstp.8 lr, lr\n"                      \
    "2:\n"                                  \
    "vldrw.32 q4, [r7], #16\n"              \
    "vldrw.32 q5, [r7], #16\n"              \
    "vldrw.32 q6, [r7], #16\n"              \
    "vldrw.32 q7, [r7], #16\n"              \
    TAP("r0") ADD_TAP("r1") add             \
    TAP("r2") ADD_TAP("r3") add             \
    TAP("r4") ADD_TAP("r5") add             \
    TAP("r6") ADD_TAP("r8") add             \
    TAP("r9") add                           \
    scale                                   \
    "vqmovnb.s16 q4, q4\n"                  \
    "vqmovnt.s16 q4, q5\n"                  \
    "vstrb.8 q4, [r10], #16\n"              \
    "letp lr, 2b\n"                         \
    "ldrd r7, lr, [r11, #48]\n"             \
    "add r10, r10, lr\n"                    \
    "cbz r7, 3f\n"                          \
    "add r0, r0, r7\n"                      \
    "add r1, r1, r7\n"                      \
    "add r2, r2, r7\n"                      \
    "add r3, r3, r7\n"                      \
    "add r4, r4, r7\n"                      \
    "add r5, r5, r7\n"                      \
    "add r6, r6, r7\n"                      \
    "add r8, r8, r7\n"                      \
    "add r9, r9, r7\n"                      \
    "3:\n"                                  \
    "ldr r7, [r11, #56]\n"                  \
    "subs r7, r7, #1\n"                     \
    "str r7, [r11, #56]\n"                  \
    "bne 1b\n"                              \
    "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n"

/* Registers and stack:
 *   r0 … r6, r8, r9  taps
 *   r7               constants; after a pixel: advance, and pixels left
 *   r10              output
 *   r11              task
 *   r12              zero point
 *   lr               channels left: lanes after them load zeros, and store nothing
 *   q0 … q3          elements, weights, products; multipliers and shifts
 *   q4 … q7          sums: those of channels 4 * i, then 4 * i + 1, …
 *   sp               q4 … q7, then r4 … r12 and lr of the caller
 * Stack: 104 bytes. */
#if KIBI_VECTOR_TAPS_TWICE
static KIBI_NOINLINE KIBI_NAKED void rounded_twice(KIBI_IN_REGISTER kibi_vector_taps *task)
{
    __asm__ volatile(PIXELS(ADD,
        SCALE("q4")
        SCALE("q5")
        SCALE("q6")
        SCALE("q7")
        "vqmovnb.s32 q4, q4\n"
        "vqmovnb.s32 q5, q5\n"
        "vqmovnt.s32 q4, q6\n"
        "vqmovnt.s32 q5, q7\n"
        "vqadd.s16 q4, q4, r12\n"
        "vqadd.s16 q5, q5, r12\n"
        CLAMP));
}

#endif

#if KIBI_VECTOR_TAPS_ONCE
static KIBI_NOINLINE KIBI_NAKED void rounded_once(KIBI_IN_REGISTER kibi_vector_taps *task)
{
    __asm__ volatile(PIXELS(ADD_SCALED,
        SCALE_ONCE("q4", "b", "q4")
        SCALE_ONCE("q5", "b", "q5")
        SCALE_ONCE("q6", "t", "q4")
        SCALE_ONCE("q7", "t", "q5")));
}
#endif

void kibi_vector_taps_s8(kibi_vector_taps *task, int32_t rounds_once)
{
    (void)rounds_once;
#if KIBI_VECTOR_TAPS_ONCE
    if (rounds_once != 0) {
        rounded_once(task);
        return;
    }
#endif
#if KIBI_VECTOR_TAPS_TWICE
    rounded_twice(task);
#endif
}
