/* CUMSUM, float, portable: rule N24 of Kibi's numerics. Source: TFLM, reference/cumsum.h. */
#include "kibi_reduction.h"

#include "kibi_float.h"

void kibi_cumsum_f32(float *output, const float *const *rows, const kibi_cumsum_f32_params *params, void *scratch)
{
    const kibi_cumsum_f32_params *const p = params;
    (void)scratch;
    for (int32_t o = 0; o < p->outer; ++o) {
        for (int32_t i = 0; i < p->inner; ++i) {
            const int32_t step = p->is_reversed ? -p->inner : p->inner;
            int32_t at = (o * p->size + (p->is_reversed ? p->size - 1 : 0)) * p->inner + i;
            float sum = 0.0f;
            for (int32_t k = 0; k < p->size; ++k) {
                const float grown = sum + rows[at / p->row_elements][at % p->row_elements];
                output[at] = p->is_exclusive ? sum : grown;
                sum = grown;
                at += step;
            }
        }
    }
}
