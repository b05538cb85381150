/* ROUND, float, portable. Source of the rule: TFLM, reference/round.h, RoundToNearest. */
#include "kibi_round_f32.h"

#include "kibi_float_bits.h"

void kibi_round_f32(float *output, const float *const *rows, const kibi_round_f32_params *params, void *scratch)
{
    const kibi_round_f32_params *const p = params;
    const float *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const float below = kibi_floor(input[i]);
        const float rest = input[i] - below;
        /* Where the rest is a half, the integer is below 2**23. */
        const int is_below = rest < 0.5f || (rest == 0.5f && (int32_t)below % 2 == 0);
        output[i] = is_below ? below : below + 1.0f;
    }
}
