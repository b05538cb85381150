/* ADD and SUB, int8, one rounding, portable. */
#include "kibi_binary.h"

/* floor(element * factor / 2**8): the upper half of a product, which many cores have an instruction for. */
static inline int32_t term(int32_t element, int32_t factor)
{
    return (int32_t)(((int64_t)(element * (1 << 24)) * factor) >> 32);
}

void kibi_add_s8_linear(int8_t *output, const int8_t *const *rows, const kibi_add_s8_linear_params *params,
                        void *scratch)
{
    const kibi_add_s8_linear_params *const p = params;
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t sum = (term(rows[0][i], p->factor1) + term(rows[1][i], p->factor2) + p->start) >> 20;
        output[i] = (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
    }
}
