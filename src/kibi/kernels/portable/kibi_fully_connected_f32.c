/* FULLY_CONNECTED, float, portable. Source of the rule: TFLM, reference/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_f32.h"

void kibi_fully_connected_f32(float *output, const float *const *rows, const kibi_fully_connected_f32_params *params,
                              void *scratch)
{
    const kibi_fully_connected_f32_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->piece * p->pieces == p->depth && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        for (int32_t o = 0; o < p->output_channels; ++o) {
            const float *w = p->filter + o * p->depth;
            float sum = 0.0f;
            for (int32_t piece = 0; piece < p->pieces; ++piece) {
                sum = kibi_dot_f32(sum, w, rows[piece] + offset, p->piece);
                w += p->piece;
            }
            *output++ = kibi_clamp_f32(sum + p->bias[o], p->activation_min, p->activation_max);
        }
        offset += p->depth;
        if (offset == p->vectors_per_row * p->depth) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
