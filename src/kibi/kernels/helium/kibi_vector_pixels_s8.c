/* Outputs of one to three pixels of a convolution, Armv8.1-M with MVE: sums across sixteen products, scaled in four lanes. */
#include "kibi_vector_pixels_s8.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

/* Parts that only some layers need: blocks of so many pixels, windows that are one vector, and such that are no whole vectors. */
#ifndef KIBI_VECTOR_PIXELS_OF_1
#define KIBI_VECTOR_PIXELS_OF_1 1
#endif
#ifndef KIBI_VECTOR_PIXELS_OF_2
#define KIBI_VECTOR_PIXELS_OF_2 1
#endif
#ifndef KIBI_VECTOR_PIXELS_OF_3
#define KIBI_VECTOR_PIXELS_OF_3 1
#endif
#ifndef KIBI_VECTOR_PIXELS_OF_SHORT
#define KIBI_VECTOR_PIXELS_OF_SHORT 1
#endif
#ifndef KIBI_VECTOR_PIXELS_OF_EXCESS
#define KIBI_VECTOR_PIXELS_OF_EXCESS 1
#endif

KIBI_FIELD_AT(kibi_vector_pixels, windows, 0);
KIBI_FIELD_AT(kibi_vector_pixels, output, 12);
KIBI_FIELD_AT(kibi_vector_pixels, step, 16);
KIBI_FIELD_AT(kibi_vector_pixels, weights, 20);
KIBI_FIELD_AT(kibi_vector_pixels, scales, 24);
KIBI_FIELD_AT(kibi_vector_pixels, elements, 28);
KIBI_FIELD_AT(kibi_vector_pixels, excess, 32);
KIBI_FIELD_AT(kibi_vector_pixels, channels, 36);
KIBI_FIELD_AT(kibi_vector_pixels, zero_point, 40);
KIBI_FIELD_AT(kibi_vector_pixels, is_above, 44);
KIBI_FIELD_AT(kibi_vector_pixels, low, 48);
KIBI_FIELD_AT(kibi_vector_pixels, high, 64);
KIBI_FIELD_AT(kibi_vector_pixels, all_channels, 80);
KIBI_FIELD_AT(kibi_vector_pixels, blocks, 84);
KIBI_FIELD_AT(kibi_vector_pixels, advance, 88);
KIBI_FIELD_AT(kibi_vector_pixels, output_advance, 92);

#define ENTER                               \
    ".syntax unified\n"                     \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n" \
    "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
    "mov r12, r0\n"                         \
    "vldrw.32 q7, [r12, #48]\n"             \
    "0:\n"                                  \
    "ldrd r3, r1, [r12, #20]\n"
/* To the next block, and the end. */
#define LEAVE                               \
    "ldrd r0, r4, [r12, #84]\n"             \
    "subs r0, r0, #1\n"                     \
    "beq 4f\n"                              \
    "str r0, [r12, #84]\n"                  \
    "ldm r12, {r5, r7, r9}\n"               \
    "ldr r6, [r12, #92]\n"                  \
    "ldr r0, [r12, #80]\n"                  \
    "add r5, r5, r4\n"                      \
    "add r7, r7, r4\n"                      \
    "add r9, r9, r4\n"                      \
    "add r2, r2, r6\n"                      \
    "stm r12, {r5, r7, r9}\n"               \
    "str r2, [r12, #12]\n"                  \
    "str r0, [r12, #36]\n"                  \
    "b 0b\n"                                \
    "4:\n"                                  \
    "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n"

/* Loops read whole vectors and step over them; lanes after the last element are zero. */
#if KIBI_VECTOR_PIXELS_OF_EXCESS
#define GO_BACK_BOTH                        \
    "ldr lr, [r12, #32]\n"                  \
    "sub r11, r11, lr\n"                    \
    "sub r3, r3, lr\n"
#define GO_BACK(pointer)                    \
    "ldr lr, [r12, #32]\n"                  \
    "sub " pointer ", " pointer ", lr\n"
#else
#define GO_BACK_BOTH ""
#define GO_BACK(pointer) ""
#endif

/* Multipliers and shifts, and the high halves of the products; the bounds of outputs. */
#define BEGIN_SCALES                        \
    "vldrw.32 q0, [r1], #16\n"              \
    "vldrb.s32 q1, [r1], #4\n"              \
    "ldrd r4, r6, [r12, #40]\n"
#define HIGH(sums) "vqrdmulh.s32 " sums ", " sums ", q0\n"
/* Below zero, half up is half away from zero after 1 was taken away. */
#define AWAY(sums)                          \
    "vshr.s32 q2, " sums ", #31\n"          \
    "vadd.i32 " sums ", " sums ", q2\n"
#define UPPER_BOUND "vldrw.32 q2, [r12, #64]\n"
#define FINISH(sums)                        \
    "vrshl.s32 " sums ", " sums ", q1\n"    \
    "vadd.i32 " sums ", " sums ", r4\n"     \
    "vmax.s32 " sums ", " sums ", q7\n"     \
    "vmin.s32 " sums ", " sums ", q2\n"
#define BEGIN_STORES                        \
    "ldr r0, [r12, #36]\n"                  \
    "ldrd r2, r4, [r12, #12]\n"             \
    "add r6, r2, r4\n"                      \
    "add r5, r4, r6\n"
#define NEXT                                \
    "str r2, [r12, #12]\n"                  \
    "subs r0, r0, #4\n"                     \
    "str r0, [r12, #36]\n"                  \
    "bgt 1b\n"

/* Registers and stack:
 *   r0, r2      sums of the first pixel, of both channels of a pass: 0 and 2, then 1 and 3; after the passes: channels left, output
 *   r4, r6      sums of the second pixel; after the passes: the zero point, and where there is something to be rounded away from zero
 *   r8, r10     sums of the third pixel
 *   r11, r3     both channels' weights
 *   r5, r7, r9  the pixels' elements
 *   r1          scales
 *   r12         task
 *   lr          elements left
 *   q0, q2      weights; q1, q3: elements; after the passes: multipliers, shifts, upper bounds
 *   q4, q5, q6  sums of each pixel
 *   q7          lower bounds
 *   sp          q4 … q7, then r4 … r12 and lr of the caller
 * Stack: 104 bytes. */
#define FIRST_CHANNELS                      \
    "1:\n"                                  \
    "mov r11, r3\n"                         \
    "ldr lr, [r12, #28]\n"                  \
    "add r3, r11, lr, lsl #1\n"

#if KIBI_VECTOR_PIXELS_OF_3
#define PASS_3                              \
    "ldm r12, {r5, r7, r9}\n"               \
    "ldrd r0, r2, [r1], #8\n"               \
    "mov r4, r0\n"                          \
    "mov r6, r2\n"                          \
    "mov r8, r0\n"                          \
    "mov r10, r2\n"                         \
    "dlstp.8 lr, lr\n"                      \
    "2:\n"                                  \
    "vldrb.8 q0, [r11], #16\n"              \
    "vldrb.8 q1, [r5], #16\n"               \
    "vmladava.s8 r0, q0, q1\n"              \
    "vldrb.8 q2, [r3], #16\n"               \
    "vmladava.s8 r2, q2, q1\n"              \
    "vldrb.8 q3, [r7], #16\n"               \
    "vmladava.s8 r4, q0, q3\n"              \
    "vldrb.8 q1, [r9], #16\n"               \
    "vmladava.s8 r6, q2, q3\n"              \
    "vmladava.s8 r8, q0, q1\n"              \
    "vmladava.s8 r10, q2, q1\n"             \
    "letp lr, 2b\n"
#define TAKE_3(high, low)                   \
    "vmov q4[" high "], q4[" low "], r0, r2\n" \
    "vmov q5[" high "], q5[" low "], r4, r6\n" \
    "vmov q6[" high "], q6[" low "], r8, r10\n"

static KIBI_NOINLINE KIBI_NAKED void pixels_3(KIBI_IN_REGISTER kibi_vector_pixels *task)
{
    __asm__ volatile(
        ENTER
        FIRST_CHANNELS
        PASS_3
        GO_BACK_BOTH
        TAKE_3("2", "0")
        "ldr lr, [r12, #28]\n"
        PASS_3
        GO_BACK("r3")
        TAKE_3("3", "1")
        BEGIN_SCALES
        HIGH("q4")
        HIGH("q5")
        HIGH("q6")
        "cbnz r6, 3f\n"
        AWAY("q4")
        AWAY("q5")
        AWAY("q6")
        "3:\n"
        UPPER_BOUND
        FINISH("q4")
        FINISH("q5")
        FINISH("q6")
        BEGIN_STORES
        "vstrb.32 q4, [r2], #4\n"
        "vstrb.32 q5, [r6]\n"
        "vstrb.32 q6, [r5]\n"
        NEXT
        LEAVE);
}
#endif

/* Registers and stack as of three pixels. */
#if KIBI_VECTOR_PIXELS_OF_2
#define PASS_2                              \
    "ldrd r5, r7, [r12]\n"                  \
    "ldrd r0, r2, [r1], #8\n"               \
    "mov r4, r0\n"                          \
    "mov r6, r2\n"                          \
    "dlstp.8 lr, lr\n"                      \
    "2:\n"                                  \
    "vldrb.8 q0, [r11], #16\n"              \
    "vldrb.8 q1, [r5], #16\n"               \
    "vmladava.s8 r0, q0, q1\n"              \
    "vldrb.8 q2, [r3], #16\n"               \
    "vmladava.s8 r2, q2, q1\n"              \
    "vldrb.8 q3, [r7], #16\n"               \
    "vmladava.s8 r4, q0, q3\n"              \
    "vmladava.s8 r6, q2, q3\n"              \
    "letp lr, 2b\n"
#define TAKE_2(high, low)                   \
    "vmov q4[" high "], q4[" low "], r0, r2\n" \
    "vmov q5[" high "], q5[" low "], r4, r6\n"

static KIBI_NOINLINE KIBI_NAKED void pixels_2(KIBI_IN_REGISTER kibi_vector_pixels *task)
{
    __asm__ volatile(
        ENTER
        FIRST_CHANNELS
        PASS_2
        GO_BACK_BOTH
        TAKE_2("2", "0")
        "ldr lr, [r12, #28]\n"
        PASS_2
        GO_BACK("r3")
        TAKE_2("3", "1")
        BEGIN_SCALES
        HIGH("q4")
        HIGH("q5")
        "cbnz r6, 3f\n"
        AWAY("q4")
        AWAY("q5")
        "3:\n"
        UPPER_BOUND
        FINISH("q4")
        FINISH("q5")
        BEGIN_STORES
        "vstrb.32 q4, [r2], #4\n"
        "vstrb.32 q5, [r6]\n"
        NEXT
        LEAVE);
}
#endif

/* Registers and stack:
 *   r0, r4, r2, r6   sums of channels 0 to 3
 *   r11, r3, r5, r7  their weights
 *   r9               elements
 *   else as of three pixels. */
#if KIBI_VECTOR_PIXELS_OF_1
static KIBI_NOINLINE KIBI_NAKED void pixels_1(KIBI_IN_REGISTER kibi_vector_pixels *task)
{
    __asm__ volatile(
        ENTER
        "mov r7, r3\n"
        "1:\n"
        "mov r11, r7\n"
        "ldr lr, [r12, #28]\n"
        "ldr r9, [r12]\n"
        "add r3, r11, lr\n"
        "add r5, r3, lr\n"
        "add r7, r5, lr\n"
        "ldrd r0, r2, [r1], #8\n"
        "ldrd r4, r6, [r1], #8\n"
        "dlstp.8 lr, lr\n"
        "2:\n"
        "vldrb.8 q1, [r9], #16\n"
        "vldrb.8 q0, [r11], #16\n"
        "vmladava.s8 r0, q0, q1\n"
        "vldrb.8 q2, [r3], #16\n"
        "vmladava.s8 r4, q2, q1\n"
        "vldrb.8 q0, [r5], #16\n"
        "vmladava.s8 r2, q0, q1\n"
        "vldrb.8 q2, [r7], #16\n"
        "vmladava.s8 r6, q2, q1\n"
        "letp lr, 2b\n"
        GO_BACK("r7")
        "vmov q4[2], q4[0], r0, r2\n"
        "vmov q4[3], q4[1], r4, r6\n"
        BEGIN_SCALES
        HIGH("q4")
        "cbnz r6, 3f\n"
        AWAY("q4")
        "3:\n"
        UPPER_BOUND
        FINISH("q4")
        "ldr r0, [r12, #36]\n"
        "ldr r2, [r12, #12]\n"
        "vctp.32 r0\n"
        "vpst\n"
        "vstrbt.32 q4, [r2], #4\n"
        NEXT
        LEAVE);
}
#endif

/* Registers and stack:
 *   r0, r2, r4   sums of a channel of all three pixels
 *   r6, r8, r10  sums of another one
 *   r1           scales
 *   r3, r5, r7   outputs
 *   r9           weights, sixteen of each channel
 *   r11          zero point
 *   r12          task
 *   lr           fours of channels left
 *   q0           weights, a scale, bounds
 *   q1, q2, q3   sums of each pixel
 *   q4, q5, q6   the pixels' elements; after the last one zeros
 *   q7           the lower bound
 *   sp           q4 … q7, then r4 … r12 and lr of the caller
 * Stack: 104 bytes. */
#if KIBI_VECTOR_PIXELS_OF_SHORT
#define SUMS(next, after, high, low)        \
    "vldrb.8 q0, [r9], #" next "\n"         \
    "vmladav.s8 r0, q0, q4\n"               \
    "vmladav.s8 r2, q0, q5\n"               \
    "vmladav.s8 r4, q0, q6\n"               \
    "vldrb.8 q0, [r9], #" after "\n"        \
    "vmladav.s8 r6, q0, q4\n"               \
    "vmladav.s8 r8, q0, q5\n"               \
    "vmladav.s8 r10, q0, q6\n"              \
    "vmov q1[" high "], q1[" low "], r0, r6\n" \
    "vmov q2[" high "], q2[" low "], r2, r8\n" \
    "vmov q3[" high "], q3[" low "], r4, r10\n"
#define EACH(instruction, other)            \
    instruction " q1, q1, " other "\n"      \
    instruction " q2, q2, " other "\n"      \
    instruction " q3, q3, " other "\n"
#define AWAY_BY_Q0(sums)                    \
    "vshr.s32 q0, " sums ", #31\n"          \
    "vadd.i32 " sums ", " sums ", q0\n"

static KIBI_NOINLINE KIBI_NAKED void short_3(KIBI_IN_REGISTER kibi_vector_pixels *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n"
        "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n"
        "mov r12, r0\n"
        "ldr r11, [r12, #40]\n"
        "vldrw.32 q7, [r12, #48]\n"
        "0:\n"
        "ldr r4, [r12, #28]\n"
        "ldm r12, {r5, r7, r9}\n"
        "vctp.8 r4\n"
        "vpsttt\n"
        "vldrbt.8 q4, [r5]\n"
        "vldrbt.8 q5, [r7]\n"
        "vldrbt.8 q6, [r9]\n"
        "ldrd r9, r1, [r12, #20]\n"
        "ldrd r3, r2, [r12, #12]\n"
        "ldr r4, [r12, #80]\n"
        "add r5, r3, r2\n"
        "add r7, r5, r2\n"
        "lsr r4, r4, #2\n"
        "dls lr, r4\n"
        "1:\n"
        SUMS("32", "-16", "2", "0")
        SUMS("32", "16", "3", "1")
        "ldrd r0, r2, [r1], #8\n"
        "ldrd r4, r6, [r1], #8\n"
        "vmov q0[2], q0[0], r0, r2\n"
        "vmov q0[3], q0[1], r4, r6\n"
        EACH("vadd.i32", "q0")
        "vldrw.32 q0, [r1], #16\n"
        EACH("vqrdmulh.s32", "q0")
        "ldr r0, [r12, #44]\n"
        "cbnz r0, 2f\n"
        AWAY_BY_Q0("q1")
        AWAY_BY_Q0("q2")
        AWAY_BY_Q0("q3")
        "2:\n"
        "vldrb.s32 q0, [r1], #4\n"
        EACH("vrshl.s32", "q0")
        EACH("vadd.i32", "r11")
        EACH("vmax.s32", "q7")
        "vldrw.32 q0, [r12, #64]\n"
        EACH("vmin.s32", "q0")
        "vstrb.32 q1, [r3], #4\n"
        "vstrb.32 q2, [r5], #4\n"
        "vstrb.32 q3, [r7], #4\n"
        "le lr, 1b\n"
        "ldrd r0, r4, [r12, #84]\n"
        "subs r0, r0, #1\n"
        "beq 4f\n"
        "str r0, [r12, #84]\n"
        "ldr r6, [r12, #92]\n"
        "ldm r12, {r5, r7, r9}\n"
        "add r3, r3, r6\n"
        "add r5, r5, r4\n"
        "add r7, r7, r4\n"
        "add r9, r9, r4\n"
        "str r3, [r12, #12]\n"
        "stm r12, {r5, r7, r9}\n"
        "b 0b\n"
        "4:\n"
        "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n");
}
#endif

void kibi_vector_pixels_s8(kibi_vector_pixels *task, int32_t pixels)
{
    (void)pixels;
#if KIBI_VECTOR_PIXELS_OF_SHORT
    if (pixels == 3 && task->weight_step == 16) {
        short_3(task);
        return;
    }
#endif
#if KIBI_VECTOR_PIXELS_OF_3
    if (pixels == 3) {
        pixels_3(task);
        return;
    }
#endif
#if KIBI_VECTOR_PIXELS_OF_2
    if (pixels == 2) {
        pixels_2(task);
        return;
    }
#endif
#if KIBI_VECTOR_PIXELS_OF_1
    pixels_1(task);
#endif
}
