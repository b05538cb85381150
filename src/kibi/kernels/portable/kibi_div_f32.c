/* DIV, float, portable. Source of the rule: TFLM, reference/div.h, Div. */
#include "kibi_div_f32.h"

#include "kibi_quotient_f32.h"

/* The value cut to low … high, the upper bound last; a NaN stays one. */
static inline float clamped(float value, float low, float high)
{
    const float raised = value < low ? low : value;
    return raised > high ? high : raised;
}

void kibi_div_f32(float *output, const float *const *rows, const kibi_div_f32_params *params, void *scratch)
{
    const kibi_div_f32_params *const p = params;
    const float *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const float *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const float *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = clamped(KIBI_QUOTIENT(*a, *b), p->activation_min, p->activation_max);
            a += p->step1;
            b += p->step2;
        }
    }
}
