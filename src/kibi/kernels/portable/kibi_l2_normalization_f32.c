/* L2_NORMALIZATION, float, portable. Source of the rule: TFLM, reference/l2normalization.h, L2Normalization. */
#include "kibi_normalization.h"

#include "kibi_float.h"
#include "kibi_quotient_f32.h"
#include "kibi_square_root.h"

void kibi_l2_normalization_f32(float *output, const float *const *rows, const kibi_vectors_params *params,
                               void *scratch)
{
    const kibi_vectors_params *const p = params;
    const float *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        float squares = 0.0f;
        for (int32_t i = 0; i < p->depth; ++i) {
            const float square = input[i] * input[i];
            squares += square;
        }
        const float root = kibi_square_root(squares);
        const float norm = root < 1e-6f ? 1e-6f : root;
        for (int32_t i = 0; i < p->depth; ++i) {
            output[i] = KIBI_QUOTIENT(input[i], norm);
        }
        input += p->depth;
        output += p->depth;
    }
}
