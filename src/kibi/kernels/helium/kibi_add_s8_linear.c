/* ADD and SUB, int8, one rounding, Armv8.1-M with MVE: sixteen elements at a time. */
#include "kibi_binary.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

KIBI_FIELD_AT(kibi_add_s8_linear_params, factor1, 0);
KIBI_FIELD_AT(kibi_add_s8_linear_params, factor2, 4);
KIBI_FIELD_AT(kibi_add_s8_linear_params, start, 8);
KIBI_FIELD_AT(kibi_add_s8_linear_params, elements, 12);

/* Outputs with 16 bits in `to` of eight elements of both inputs, 128-fold with 16 bits, which are lost; `next` is free. Products are doubled,
 * so that elements 2^23-fold give floor(element * factor / 2^8) in their upper halves. */
#define HALF(first, second, to, next)        \
    "vshllb.s16 " to ", " first ", #16\n"     \
    "vshllt.s16 " first ", " first ", #16\n"  \
    "vshllb.s16 " next ", " second ", #16\n"  \
    "vshllt.s16 " second ", " second ", #16\n" \
    "vqdmlash.s32 " to ", q6, r4\n"           \
    "vqdmlash.s32 " first ", q6, r4\n"        \
    "vqdmlah.s32 " to ", " next ", r3\n"      \
    "vqdmlah.s32 " first ", " second ", r3\n" \
    "vqrshrnb.s32 " to ", " to ", #16\n"      \
    "vqrshrnt.s32 " to ", " first ", #16\n"

/* Sums are shifted by 16 and then by 4, to the nearest both times, as binutils 2.40 assembles the forms that cut as those. What both
 * roundings add is taken from the start before: 2^15, and 8 * 2^16. Where that saturates, all outputs are -128.
 *
 * Registers and stack:
 *   r0       output
 *   r1, r2   the inputs; before: rows, params
 *   r3       factor2
 *   r4       the start
 *   r12      elements left
 *   lr       vectors left
 *   q0, q1   elements of the first input, 128-fold: odd ones, even ones; outputs
 *   q2, q3   those of the second
 *   q4, q5   outputs; products of the second input
 *   q6       factor1
 *   sp       q4 … q6, then r4 and lr of the caller
 * Stack: 56 bytes. */
KIBI_NAKED void kibi_add_s8_linear(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER const int8_t *const *rows,
                                   KIBI_IN_REGISTER const kibi_add_s8_linear_params *params,
                                   KIBI_IN_REGISTER void *scratch)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "vpush {d8, d9, d10, d11, d12, d13}\n"
        "ldr r4, [r2]\n"
        "ldr r12, [r2, #12]\n"
        "vdup.32 q6, r4\n"
        "ldrd r3, r4, [r2, #4]\n"
        "mov r2, #0x88000\n"
        "qsub r4, r4, r2\n"
        "ldrd r1, r2, [r1]\n"
        "add lr, r12, #15\n"
        "lsr lr, lr, #4\n"
        "dls lr, lr\n"
        "1:\n"
        "vctp.8 r12\n"
        "vpstt\n"
        "vldrbt.8 q0, [r1], #16\n"
        "vldrbt.8 q2, [r2], #16\n"
        "vshllb.s8 q1, q0, #7\n"
        "vshllt.s8 q0, q0, #7\n"
        "vshllb.s8 q3, q2, #7\n"
        "vshllt.s8 q2, q2, #7\n"
        HALF("q1", "q3", "q4", "q5")
        HALF("q0", "q2", "q1", "q3")
        "vqrshrnb.s16 q4, q4, #4\n"
        "vqrshrnt.s16 q4, q1, #4\n"
        "vpst\n"
        "vstrbt.8 q4, [r0], #16\n"
        "sub r12, r12, #16\n"
        "le lr, 1b\n"
        "vpop {d8, d9, d10, d11, d12, d13}\n"
        "pop {r4, pc}\n");
}
