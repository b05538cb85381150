/* ADD_N, int8, portable: rule N34 of Kibi's numerics. Source: TFLM, reference/add_n.h. */
#include "kibi_add_n.h"

#include "kibi_requantize.h"

/* Sums have this many more bits when they are scaled. */
enum { LEFT_SHIFT = 19 };

void kibi_add_n_s8(int8_t *output, const int8_t *const *rows, const kibi_add_n_s8_params *params, void *scratch)
{
    const kibi_add_n_s8_params *const p = params;
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        int32_t sum = -p->zero_point;
        for (int32_t k = 0; k < p->inputs; ++k) {
            sum += rows[k][i] - p->zero_point;
        }
        const int32_t scaled = kibi_requantize(sum * (1 << LEFT_SHIFT), p->output_multiplier, p->output_shift);
        output[i] = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), INT8_MIN, INT8_MAX);
    }
}
