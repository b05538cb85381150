/* PRELU, int16, portable. Source of the rule: TFLM, reference/prelu.h. */
#include "kibi_binary.h"

#include "kibi_requantize.h"

void kibi_prelu_s16(void *output, const void *const *rows, const kibi_prelu_params *params, void *scratch)
{
    const kibi_prelu_params *const p = params;
    const void *const *rows2 = rows + p->rows1;
    int16_t *to = (int16_t *)output;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int16_t *a = (const int16_t *)rows[piece * p->row_step1] + piece * p->piece_step1;
        const int8_t *b = (const int8_t *)rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t centred = *a - p->zero_point1;
            const int32_t product = centred * (*b - p->zero_point2);
            const int32_t scaled = centred >= 0 ? kibi_requantize(centred, p->multiplier1, p->shift1)
                                                : kibi_requantize(product, p->multiplier2, p->shift2);
            *to++ = (int16_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), INT16_MIN, INT16_MAX);
            a += p->step1;
            b += p->step2;
        }
    }
}
