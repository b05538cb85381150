/* ADD and SUB, int8, of a row and a single element, one rounding, portable. */
#include "kibi_binary.h"

/* floor(element * factor / 2**8). */
static inline int32_t term(int32_t element, int32_t factor) { return (int32_t)(((int64_t)element * factor) >> 8); }

void kibi_add_s8_linear_scalar(int8_t *output, const int8_t *const *rows, const kibi_add_s8_linear_scalar_params *params,
                               void *scratch)
{
    const kibi_add_s8_linear_scalar_params *const p = params;
    const int32_t is_first = p->is_first;
    const int8_t *const row = rows[is_first];
    const int32_t start = p->start + term(*rows[1 - is_first], is_first != 0 ? p->factor1 : p->factor2);
    const int32_t factor = is_first != 0 ? p->factor2 : p->factor1;
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t sum = (term(row[i], factor) + start) >> 20;
        output[i] = (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
    }
}
