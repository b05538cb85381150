/* MUL, int8, portable. Source of the rule: TFLM, integer_ops/mul.h, MulElementwise. */
#include "kibi_mul_s8.h"

#include "kibi_requantize.h"

void kibi_mul_s8(int8_t *output, const int8_t *const *rows, const kibi_mul_s8_params *params, void *scratch)
{
    const kibi_mul_s8_params *const p = params;
    const int8_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int8_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t product = (*a - p->zero_point1) * (*b - p->zero_point2);
            const int32_t scaled = kibi_requantize(product, p->output_multiplier, p->output_shift);
            const int32_t moved = kibi_wrapping_add(scaled, p->output_zero_point);
            *output++ = (int8_t)kibi_clamp(moved, p->activation_min, p->activation_max);
            a += p->step1;
            b += p->step2;
        }
    }
}
