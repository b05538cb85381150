/* ABS, float, portable. Source of the rule: TFLM, micro/kernels/elementwise.cc, AbsEval. */
#include "kibi_abs_f32.h"

#include "kibi_float_bits.h"

void kibi_abs_f32(float *output, const float *const *rows, const kibi_abs_f32_params *params, void *scratch)
{
    const kibi_abs_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = kibi_float_of_bits(kibi_bits_of_float(input[i]) & 0x7FFFFFFFu);
    }
}
