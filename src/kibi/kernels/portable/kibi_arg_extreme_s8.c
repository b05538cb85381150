/* ARG_MAX and ARG_MIN, int8, portable. Source of the rule: TFLM, reference/arg_min_max.h. */
#include "kibi_arg_extreme_s8.h"

void kibi_arg_extreme_s8(int32_t *output, const int8_t *const *rows, const kibi_arg_extreme_s8_params *params, void *scratch)
{
    const kibi_arg_extreme_s8_params *const p = params;
    (void)scratch;
    for (int32_t o = 0; o < p->outer; ++o) {
        for (int32_t i = 0; i < p->inner; ++i) {
            int32_t at = o * p->size * p->inner + i;
            int32_t place = 0;
            int8_t found = rows[at / p->row_elements][at % p->row_elements];
            for (int32_t k = 1; k < p->size; ++k) {
                at += p->inner;
                const int8_t value = rows[at / p->row_elements][at % p->row_elements];
                if (p->is_max ? value > found : value < found) {
                    found = value;
                    place = k;
                }
            }
            *output++ = place;
        }
    }
}
