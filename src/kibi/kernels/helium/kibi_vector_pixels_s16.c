/* Outputs of one or three pixels of a convolution of int16, Armv8.1-M with MVE: sums across eight products, scaled in four lanes. */
#include "kibi_vector_pixels_s16.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

/* Parts that only some layers need: blocks of so many pixels. */
#ifndef KIBI_VECTOR_PIXELS_S16_OF_3
#define KIBI_VECTOR_PIXELS_S16_OF_3 1
#endif
#ifndef KIBI_VECTOR_PIXELS_S16_OF_1
#define KIBI_VECTOR_PIXELS_S16_OF_1 1
#endif

KIBI_FIELD_AT(kibi_vector_pixels_s16_task, rows, 0);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, rows_end, 4);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, place, 8);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, step, 12);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, run, 16);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, skipped, 20);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, weights, 24);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, weight_step, 28);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, scales, 32);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, output, 36);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, output_step, 40);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, channels, 44);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, low, 48);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, high, 52);
KIBI_FIELD_AT(kibi_vector_pixels_s16_task, row, 56);

/* Loops read whole vectors and step over them: `skipped` is made less by the lanes after the last element of a run. */
#define ENTER(weights)                      \
    ".syntax unified\n"                     \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n" \
    "vpush {d8, d9, d10, d11, d12, d13}\n"  \
    "mov r12, r0\n"                         \
    "ldrd r0, r2, [r12, #16]\n"             \
    "rsb r0, r0, #0\n"                      \
    "and r0, r0, #7\n"                      \
    "sub r2, r2, r0\n"                      \
    "str r2, [r12, #20]\n"                  \
    "ldr " weights ", [r12, #24]\n"
#define LEAVE                               \
    "vpop {d8, d9, d10, d11, d12, d13}\n"   \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n"

/* Factors and the high halves of products, to the nearest; bounds. */
#define BEGIN_SCALES(scales)                \
    "vldrw.32 q0, [" scales "], #16\n"      \
    "ldrd r4, r6, [r12, #48]\n"             \
    "vdup.32 q1, r4\n"                      \
    "vdup.32 q2, r6\n"
#define FINISH(sums)                        \
    "vrmulh.s32 " sums ", " sums ", q0\n"   \
    "vmax.s32 " sums ", " sums ", q1\n"     \
    "vmin.s32 " sums ", " sums ", q2\n"
#define BEGIN_STORES                        \
    "ldrd r2, r4, [r12, #36]\n"             \
    "ldr r0, [r12, #44]\n"                  \
    "vctp.32 r0\n"
/* Four channels on; r2: where the next outputs go. */
#define NEXT                                \
    "str r2, [r12, #36]\n"                  \
    "subs r0, r0, #4\n"                     \
    "str r0, [r12, #44]\n"                  \
    "bgt 1b\n"

/* Registers and stack:
 *   r0, r2      sums of the first pixel, of both channels of a pass: 0 and 2, then 1 and 3; after the passes: channels left, output
 *   r4, r6      sums of the second pixel; after the passes: free
 *   r8, r10     sums of the third pixel
 *   r5, r7      both channels' weights
 *   r3, r11, r9 the pixels' elements, and free
 *   r1          scales
 *   r12         task
 *   lr          elements left
 *   q0, q2      weights; q1, q3: elements; after the passes: factors, bounds
 *   q4, q5, q6  sums of each pixel
 *   sp          q4 … q6, then r4 … r12 and lr of the caller
 * Stack: 88 bytes. */
#if KIBI_VECTOR_PIXELS_S16_OF_3
#define PASS_3                              \
    "ldr r3, [r12]\n"                       \
    "ldrd r0, r2, [r1], #8\n"               \
    "mov r4, r0\n"                          \
    "mov r6, r2\n"                          \
    "mov r8, r0\n"                          \
    "mov r10, r2\n"                         \
    "2:\n" /* the next row */               \
    "ldr r11, [r3], #4\n"                   \
    "str r3, [r12, #56]\n"                  \
    "ldrd r3, r9, [r12, #8]\n"              \
    "ldr lr, [r12, #16]\n"                  \
    "cmp r11, #0\n"                         \
    "beq 4f\n"                              \
    "add r3, r11, r3\n"                     \
    "add r11, r3, r9\n"                     \
    "add r9, r11, r9\n"                     \
    "dlstp.16 lr, lr\n"                     \
    "3:\n"                                  \
    "vldrb.s16 q0, [r5], #8\n"              \
    "vldrh.16 q1, [r3], #16\n"              \
    "vmladava.s16 r0, q0, q1\n"             \
    "vldrb.s16 q2, [r7], #8\n"              \
    "vmladava.s16 r2, q2, q1\n"             \
    "vldrh.16 q3, [r11], #16\n"             \
    "vmladava.s16 r4, q0, q3\n"             \
    "vldrh.16 q1, [r9], #16\n"              \
    "vmladava.s16 r6, q2, q3\n"             \
    "vmladava.s16 r8, q0, q1\n"             \
    "vmladava.s16 r10, q2, q1\n"            \
    "letp lr, 3b\n"                         \
    ROW_ENDS
#define TAKE_3(high, low)                   \
    "vmov q4[" high "], q4[" low "], r0, r2\n" \
    "vmov q5[" high "], q5[" low "], r4, r6\n" \
    "vmov q6[" high "], q6[" low "], r8, r10\n"
/* To the weights of the next row, and to it, if there is one; a row outside has the weights of whole vectors and what is skipped, too. */
#define ROW_ENDS                            \
    "ldr r3, [r12, #20]\n"                  \
    "5:\n"                                  \
    "add r5, r5, r3\n"                      \
    "add r7, r7, r3\n"                      \
    "ldr r3, [r12, #56]\n"                  \
    "ldr r11, [r12, #4]\n"                  \
    "cmp r3, r11\n"                         \
    "bne 2b\n"                              \
    "b 6f\n"                                \
    "4:\n" /* a row outside */              \
    "ldr r3, [r12, #20]\n"                  \
    "add lr, lr, #7\n"                      \
    "bic lr, lr, #7\n"                      \
    "add r3, r3, lr\n"                      \
    "b 5b\n"                                \
    "6:\n"

static KIBI_NOINLINE KIBI_NAKED void pixels_3(KIBI_IN_REGISTER kibi_vector_pixels_s16_task *task)
{
    __asm__ volatile(
        ENTER("r7")
        "ldr r1, [r12, #32]\n"
        "1:\n" /* the next four channels */
        "ldr lr, [r12, #28]\n"
        "mov r5, r7\n"
        "add r7, r5, lr, lsl #1\n"
        PASS_3
        TAKE_3("2", "0")
        PASS_3
        TAKE_3("3", "1")
        BEGIN_SCALES("r1")
        FINISH("q4")
        FINISH("q5")
        FINISH("q6")
        BEGIN_STORES
        "add r6, r2, r4\n"
        "add r4, r6, r4\n"
        "vpsttt\n"
        "vstrht.32 q4, [r2]\n"
        "vstrht.32 q5, [r6]\n"
        "vstrht.32 q6, [r4]\n"
        "add r2, r2, #8\n"
        NEXT
        LEAVE);
}
#endif

/* Registers and stack:
 *   r0, r4, r2, r6   sums of channels 0 to 3
 *   r1, r3, r5, r7   their weights
 *   r9               elements
 *   r8, r11          the next row's pointer, and free
 *   r10              scales
 *   else as of three pixels. */
#if KIBI_VECTOR_PIXELS_S16_OF_1
static KIBI_NOINLINE KIBI_NAKED void pixels_1(KIBI_IN_REGISTER kibi_vector_pixels_s16_task *task)
{
    __asm__ volatile(
        ENTER("r3")
        "ldr r10, [r12, #32]\n"
        "1:\n"
        "ldr lr, [r12, #28]\n"
        "mov r1, r3\n"
        "add r3, r1, lr\n"
        "add r5, r3, lr\n"
        "add r7, r5, lr\n"
        "ldrd r0, r2, [r10], #8\n"
        "ldrd r4, r6, [r10], #8\n"
        "ldr r8, [r12]\n"
        "2:\n"
        "ldr r9, [r8], #4\n"
        "ldr lr, [r12, #16]\n"
        "cmp r9, #0\n"
        "beq 4f\n"
        "ldr r11, [r12, #8]\n"
        "add r9, r9, r11\n"
        "dlstp.16 lr, lr\n"
        "3:\n"
        "vldrh.16 q1, [r9], #16\n"
        "vldrb.s16 q0, [r1], #8\n"
        "vmladava.s16 r0, q0, q1\n"
        "vldrb.s16 q2, [r3], #8\n"
        "vmladava.s16 r4, q2, q1\n"
        "vldrb.s16 q0, [r5], #8\n"
        "vmladava.s16 r2, q0, q1\n"
        "vldrb.s16 q2, [r7], #8\n"
        "vmladava.s16 r6, q2, q1\n"
        "letp lr, 3b\n"
        "ldr r11, [r12, #20]\n"
        "5:\n"
        "add r1, r1, r11\n"
        "add r3, r3, r11\n"
        "add r5, r5, r11\n"
        "add r7, r7, r11\n"
        "ldr r11, [r12, #4]\n"
        "cmp r8, r11\n"
        "bne 2b\n"
        "b 6f\n"
        "4:\n"
        "ldr r11, [r12, #20]\n"
        "add lr, lr, #7\n"
        "bic lr, lr, #7\n"
        "add r11, r11, lr\n"
        "b 5b\n"
        "6:\n"
        "ldr r3, [r12, #24]\n" /* of the next four channels */
        "ldr lr, [r12, #28]\n"
        "add r3, r3, lr, lsl #2\n"
        "str r3, [r12, #24]\n"
        "vmov q4[2], q4[0], r0, r2\n"
        "vmov q4[3], q4[1], r4, r6\n"
        BEGIN_SCALES("r10")
        FINISH("q4")
        BEGIN_STORES
        "vpst\n"
        "vstrht.32 q4, [r2]\n"
        "add r2, r2, #8\n"
        NEXT
        LEAVE);
}
#endif

void kibi_vector_pixels_s16(kibi_vector_pixels_s16_task *task, int32_t pixels)
{
    (void)pixels;
#if KIBI_VECTOR_PIXELS_S16_OF_3
    if (pixels == 3) {
        pixels_3(task);
        return;
    }
#endif
#if KIBI_VECTOR_PIXELS_S16_OF_1
    pixels_1(task);
#endif
}
