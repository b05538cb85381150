/* DEQUANTIZE from s8, Armv8.1-M with MVE: four elements at a time. Source of the rule: TFLM, reference/dequantize.h, Dequantize. */
#include "kibi_quantize.h"

#include "kibi_assembly.h"
#include "kibi_float_flags.h"

KIBI_FIELD_AT(kibi_quantize_f32_params, elements, 0);
KIBI_FIELD_AT(kibi_quantize_f32_params, scale, 4);
KIBI_FIELD_AT(kibi_quantize_f32_params, zero_point, 8);

/* Registers:
 *   r0   output
 *   r1   input
 *   r2   scale; before: params
 *   r3   zero point
 *   lr   elements left
 *   q0   elements
 * Stack: 4 bytes. */
static KIBI_NOINLINE KIBI_NAKED void scaled(KIBI_IN_REGISTER float *output, KIBI_IN_REGISTER const int8_t *input,
                                            KIBI_IN_REGISTER const kibi_quantize_f32_params *params)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {lr}\n"
        "ldr r12, [r2]\n"
        "ldrd r2, r3, [r2, #4]\n"
        "dlstp.32 lr, r12\n"
        "1:\n"
        "vldrb.s32 q0, [r1], #4\n"
        "vsub.i32 q0, q0, r3\n"
        "vcvt.f32.s32 q0, q0\n"
        "vmul.f32 q0, q0, r2\n"
        "vstrw.32 q0, [r0], #16\n"
        "letp lr, 1b\n"
        "pop {pc}\n");
}

void kibi_dequantize_s8_f32(float *output, const int8_t *const *rows, const kibi_quantize_f32_params *params, void *scratch)
{
    const int8_t *const input = rows[0];
    (void)scratch;
    if (params->scale >= KIBI_LEAST_NORMAL_F32) {
        scaled(output, input, params);
        return;
    }
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = params->scale * (float)(input[i] - params->zero_point);
    }
}
