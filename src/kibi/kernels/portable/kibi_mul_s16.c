/* MUL, int16, portable. Source of the rule: TFLM, integer_ops/mul.h, MulElementwise. */
#include "kibi_mul_s16.h"

#include "kibi_requantize.h"

void kibi_mul_s16(int16_t *output, const int16_t *const *rows, const kibi_mul_s16_params *params, void *scratch)
{
    const kibi_mul_s16_params *const p = params;
    const int16_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int16_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int16_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t product = kibi_requantize(*a * *b, p->output_multiplier, p->output_shift);
            *output++ = (int16_t)kibi_clamp(product, p->activation_min, p->activation_max);
            a += p->step1;
            b += p->step2;
        }
    }
}
