/* L2_NORMALIZATION, int8, portable. Source of the rule: TFLM, reference/integer_ops/l2normalization.h, and
 * internal/common.h, GetInvSqrtQuantizedMultiplierExp. */
#include "kibi_normalization.h"

#include "kibi_inverse_square_root.h"
#include "kibi_requantize.h"

/* The output has 7 fraction bits. */
enum { OUTPUT_BITS = 7 };

static void one_vector(int8_t *output, const int8_t *input, const kibi_l2_normalization_s8_params *p)
{
    int32_t squares = 0;
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t centred = input[i] - p->zero_point;
        squares += centred * centred;
    }
    const kibi_scaling inverse = kibi_inverse_square_root(squares);
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t centred = input[i] - p->zero_point;
        const int32_t scaled = kibi_requantize(centred, inverse.multiplier, inverse.shift + OUTPUT_BITS);
        output[i] = (int8_t)kibi_clamp(scaled, -128, 127);
    }
}

void kibi_l2_normalization_s8(int8_t *output, const int8_t *const *rows, const kibi_l2_normalization_s8_params *params,
                              void *scratch)
{
    const int8_t *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < params->vectors; ++vector) {
        one_vector(output, input, params);
        output += params->depth;
        input += params->depth;
    }
}
