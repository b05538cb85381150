/* FULLY_CONNECTED, int16, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_requantize_s16.h"

void kibi_fully_connected_s16(int16_t *output, const int16_t *const *rows,
                              const kibi_fully_connected_s16_params *params, void *scratch)
{
    const kibi_fully_connected_s16_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->piece * p->pieces == p->depth && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        const int8_t *w = p->filter;
        for (int32_t o = 0; o < p->output_channels; ++o) {
            int64_t sum = p->bias[o];
            for (int32_t k = 0; k < p->pieces; ++k) {
                sum = kibi_dot_s16(sum, w, rows[k] + offset, p->piece);
                w += p->piece;
            }
            *output++ = kibi_requantize_s16(sum, p->multiplier[o], p->shift[o], p->is_wide, p->output_zero_point,
                                            p->activation_min, p->activation_max);
        }
        offset += p->depth;
        if (offset == p->vectors_per_row * p->depth) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
