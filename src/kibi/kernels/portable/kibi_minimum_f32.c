/* MINIMUM, float, portable. Source of the rule: TFLM, micro/kernels/maximum_minimum.h, MinimumOp. */
#include "kibi_minimum_f32.h"

void kibi_minimum_f32(float *output, const float *const *rows, const kibi_minimum_f32_params *params, void *scratch)
{
    const kibi_minimum_f32_params *const p = params;
    const float *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const float *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const float *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = *a < *b ? *a : *b;
            a += p->step1;
            b += p->step2;
        }
    }
}
