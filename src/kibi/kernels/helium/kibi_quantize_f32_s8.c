/* QUANTIZE from f32 to s8, Armv8.1-M with MVE: four elements at a time. Source of the rule: TFLM, reference/quantize.h, AffineQuantize. */
#include "kibi_quantize.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !(__ARM_FEATURE_MVE & 2) || !defined(__thumb2__)
#error "this file is for cores with MVE of floats"
#endif

KIBI_FIELD_AT(kibi_quantize_f32_params, elements, 0);
KIBI_FIELD_AT(kibi_quantize_f32_params, scale, 4);
KIBI_FIELD_AT(kibi_quantize_f32_params, zero_point, 8);

/* Outputs of four elements in q0, in the lowest bytes of its lanes. */
#define QUANTIZED                           \
    "vdiv.f32 s0, s0, s4\n"                 \
    "vdiv.f32 s1, s1, s4\n"                 \
    "vdiv.f32 s2, s2, s4\n"                 \
    "vdiv.f32 s3, s3, s4\n"                 \
    "vcvta.s32.f32 q0, q0\n"                \
    "vqadd.s32 q0, q0, r2\n"                \
    "vqmovnb.s32 q0, q0\n"                  \
    "vqmovnb.s16 q0, q0\n"

/* Quotients are those of scalars, as vectors have no division. They are rounded half away from zero, a NaN to 0; what is beyond 32 bits, and
 * then beyond 8 bits, becomes the end of the range. A denormal quotient is 0 either way.
 *
 * Registers:
 *   r0   output
 *   r1   input; before: rows
 *   r2   zero point; before: params
 *   r3   elements
 *   lr   fours of elements left
 *   q0   elements, outputs
 *   s4   scale
 * Stack: 4 bytes. */
KIBI_NAKED void kibi_quantize_f32_s8(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER const float *const *rows,
                                     KIBI_IN_REGISTER const kibi_quantize_f32_params *params, KIBI_IN_REGISTER void *scratch)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {lr}\n"
        "ldr r3, [r2]\n"
        "vldr s4, [r2, #4]\n"
        "ldr r2, [r2, #8]\n"
        "ldr r1, [r1]\n"
        "lsr r12, r3, #2\n"
        "wls lr, r12, 2f\n"
        "1:\n"
        "vldrw.32 q0, [r1], #16\n"
        QUANTIZED
        "vstrb.32 q0, [r0], #4\n"
        "le lr, 1b\n"
        "2:\n"
        "ands r3, r3, #3\n"
        "beq 3f\n"
        "vctp.32 r3\n"
        "vpst\n"
        "vldrwt.32 q0, [r1]\n"
        QUANTIZED
        "vpst\n"
        "vstrbt.32 q0, [r0]\n"
        "3:\n"
        "pop {pc}\n");
}
