/* RSQRT, float, portable. Source of the rule: TFLM, micro/kernels/elementwise.cc, RsqrtEval. */
#include "kibi_rsqrt_f32.h"

#include "kibi_quotient_f32.h"
#include "kibi_square_root.h"

void kibi_rsqrt_f32(float *output, const float *const *rows, const kibi_rsqrt_f32_params *params, void *scratch)
{
    const kibi_rsqrt_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = KIBI_QUOTIENT(1.0f, kibi_square_root(input[i]));
    }
}
