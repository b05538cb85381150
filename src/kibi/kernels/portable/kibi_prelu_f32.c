/* PRELU, float, portable. Source of the rule: TFLM, micro/kernels/prelu_common.cc. */
#include "kibi_prelu_f32.h"

void kibi_prelu_f32(float *output, const float *const *rows, const kibi_prelu_f32_params *params, void *scratch)
{
    const kibi_prelu_f32_params *const p = params;
    const float *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const float *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const float *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = *a >= 0.0f ? *a : *a * *b;
            a += p->step1;
            b += p->step2;
        }
    }
}
