/* ADD and SUB, int8, one rounding, for processors with vectors: without products of 64 bits. */
#include "kibi_binary.h"

/* floor(element * factor / 2**8): of the factor's upper bits and of its lowest byte apart. */
static inline int32_t term(int32_t element, int32_t upper, int32_t lowest)
{
    return element * upper + ((element * lowest) >> 8);
}

void kibi_add_s8_linear(int8_t *output, const int8_t *const *rows, const kibi_add_s8_linear_params *params,
                        void *scratch)
{
    enum { BLOCK = 64 };
    const kibi_add_s8_linear_params *const p = params;
    const int32_t upper1 = p->factor1 >> 8;
    const int32_t upper2 = p->factor2 >> 8;
    const int32_t lowest1 = p->factor1 & 0xFF;
    const int32_t lowest2 = p->factor2 & 0xFF;
    (void)scratch;
    /* The output may begin below an input, over it: a block is read before it is written. */
    for (int32_t first = 0; first < p->elements; first += BLOCK) {
        int8_t block[BLOCK];
        const int32_t left = p->elements - first;
        const int32_t count = left < BLOCK ? left : BLOCK;
        const int8_t *const a = rows[0] + first;
        const int8_t *const b = rows[1] + first;
        for (int32_t i = 0; i < count; ++i) {
            const int32_t sum = (term(a[i], upper1, lowest1) + term(b[i], upper2, lowest2) + p->start) >> 20;
            block[i] = (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
        }
        for (int32_t i = 0; i < count; ++i) {
            output[first + i] = block[i];
        }
    }
}
