/* Outputs of four pixels of a convolution whose windows are one vector, Armv8.1-M with MVE: pixels in the lanes of sums. */
#include "kibi_four_pixels_s8.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

KIBI_FIELD_AT(kibi_four_pixels, windows, 0);
KIBI_FIELD_AT(kibi_four_pixels, outputs, 16);
KIBI_FIELD_AT(kibi_four_pixels, weights, 32);
KIBI_FIELD_AT(kibi_four_pixels, factors, 36);
KIBI_FIELD_AT(kibi_four_pixels, elements, 40);
KIBI_FIELD_AT(kibi_four_pixels, fours, 44);
KIBI_FIELD_AT(kibi_four_pixels, blocks, 48);
KIBI_FIELD_AT(kibi_four_pixels, advance, 52);
KIBI_FIELD_AT(kibi_four_pixels, output_advance, 56);

/* A channel of all pixels: the sums, 256 of them and the addend, and the output with 16 bits. Only the form that rounds narrows: binutils
 * 2.40 assembles the other one as it. */
#define CHANNEL(half, to)                   \
    "vldrb.8 q0, [r9], #16\n"               \
    "vmladav.s8 r0, q0, q1\n"               \
    "vmladav.s8 r2, q0, q2\n"               \
    "vmladav.s8 r4, q0, q3\n"               \
    "vmladav.s8 r6, q0, q4\n"               \
    "vmov q0[2], q0[0], r0, r4\n"           \
    "vmov q0[3], q0[1], r2, r6\n"           \
    "ldrd r0, r2, [r10], #8\n"              \
    "vmlas.s32 q0, q7, r0\n"                \
    "vqdmulh.s32 q0, q0, r2\n"              \
    "vqrshrn" half ".s32 " to ", q0, #12\n"

/* Registers and stack:
 *   r0, r2, r4, r6   windows; then sums of a channel, its addend and factor; then outputs of four channels
 *   r1               elements; fours of channels
 *   r3, r5, r7, r8   the pixels' outputs
 *   r9, r10          weights, factors
 *   r11              blocks left
 *   r12              task
 *   lr               fours of channels left
 *   q0               weights; sums
 *   q1 … q4          the pixels' elements; after the last one zeros
 *   q5, q6           outputs of channels 0 and 2, and of 1 and 3
 *   q7               256
 *   sp               q4 … q7, then r4 … r12 and lr of the caller
 * Stack: 104 bytes. */
KIBI_NAKED void kibi_four_pixels_s8(KIBI_IN_REGISTER kibi_four_pixels *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n"
        "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n"
        "mov r12, r0\n"
        "add r11, r12, #16\n"
        "ldm r11, {r3, r5, r7, r8}\n"
        "ldr r11, [r12, #48]\n"
        "vmov.i32 q7, #256\n"
        "1:\n"
        "ldr r1, [r12, #40]\n"
        "vctp.8 r1\n"
        "ldm r12, {r0, r2, r4, r6}\n"
        "vpstttt\n"
        "vldrbt.8 q1, [r0]\n"
        "vldrbt.8 q2, [r2]\n"
        "vldrbt.8 q3, [r4]\n"
        "vldrbt.8 q4, [r6]\n"
        "ldrd r9, r10, [r12, #32]\n"
        "ldr r1, [r12, #44]\n"
        "dls lr, r1\n"
        "2:\n"
        CHANNEL("b", "q5")
        CHANNEL("b", "q6")
        CHANNEL("t", "q5")
        CHANNEL("t", "q6")
        "vqmovnb.s16 q5, q5\n"
        "vqmovnt.s16 q5, q6\n"
        "vmov r0, r4, q5[2], q5[0]\n"
        "vmov r2, r6, q5[3], q5[1]\n"
        "str r0, [r3], #4\n"
        "str r2, [r5], #4\n"
        "str r4, [r7], #4\n"
        "str r6, [r8], #4\n"
        "le lr, 2b\n"
        "subs r11, r11, #1\n"
        "beq 3f\n"
        "vldrw.32 q0, [r12]\n"
        "ldrd r0, r2, [r12, #52]\n"
        "vadd.i32 q0, q0, r0\n"
        "vstrw.32 q0, [r12]\n"
        "add r3, r3, r2\n"
        "add r5, r5, r2\n"
        "add r7, r7, r2\n"
        "add r8, r8, r2\n"
        "b 1b\n"
        "3:\n"
        "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n");
}
