/* MAXIMUM, int16, portable. Source of the rule: TFLM, micro/kernels/maximum_minimum.h, MaximumOp. */
#include "kibi_maximum_s16.h"

void kibi_maximum_s16(int16_t *output, const int16_t *const *rows, const kibi_maximum_s16_params *params, void *scratch)
{
    const kibi_maximum_s16_params *const p = params;
    const int16_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int16_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int16_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = *a > *b ? *a : *b;
            a += p->step1;
            b += p->step2;
        }
    }
}
