/* RSQRT, int16, portable: rule N48. Source of the rule: TFLM, micro/kernels/elementwise.cc, RsqrtEvalQuantized. */
#include "kibi_rsqrt_s16.h"

#include "kibi_inverse_square_root.h"
#include "kibi_requantize.h"

/* Of an inverse root. */
enum { FRACTION_BITS = 20 };

void kibi_rsqrt_s16(int16_t *output, const int16_t *const *rows, const kibi_rsqrt_s16_params *params, void *scratch)
{
    const kibi_rsqrt_s16_params *const p = params;
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        int32_t result = INT16_MAX;
        if (input[i] > 0) {
            const kibi_scaling inverse = kibi_inverse_square_root(input[i]);
            const int32_t fixed = kibi_requantize(1, inverse.multiplier, inverse.shift + FRACTION_BITS);
            result = kibi_clamp(kibi_requantize(fixed, p->multiplier, p->shift), INT16_MIN, INT16_MAX);
        }
        output[i] = (int16_t)result;
    }
}
