/* CUMSUM, int8, portable: rule N34 of Kibi's numerics. Source: TFLM, reference/cumsum.h. */
#include "kibi_reduction.h"

#include "kibi_requantize.h"

/* Sums have this many more bits when they are scaled; they wrap. */
enum { LEFT_SHIFT = 19 };

void kibi_cumsum_s8(int8_t *output, const int8_t *const *rows, const kibi_cumsum_s8_params *params, void *scratch)
{
    const kibi_cumsum_s8_params *const p = params;
    (void)scratch;
    for (int32_t o = 0; o < p->outer; ++o) {
        for (int32_t i = 0; i < p->inner; ++i) {
            const int32_t step = p->is_reversed ? -p->inner : p->inner;
            int32_t at = (o * p->size + (p->is_reversed ? p->size - 1 : 0)) * p->inner + i;
            uint32_t sum = (uint32_t)-p->zero_point << LEFT_SHIFT;
            for (int32_t k = 0; k < p->size; ++k) {
                const int32_t value = rows[at / p->row_elements][at % p->row_elements] - p->zero_point;
                const uint32_t grown = sum + ((uint32_t)value << LEFT_SHIFT);
                const int32_t counted = (int32_t)(p->is_exclusive ? sum : grown);
                const int32_t scaled = kibi_requantize(counted, p->output_multiplier, p->output_shift);
                output[at] = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), INT8_MIN, INT8_MAX);
                sum = grown;
                at += step;
            }
        }
    }
}
