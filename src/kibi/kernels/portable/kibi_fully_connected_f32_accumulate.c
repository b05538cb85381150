/* FULLY_CONNECTED, float, portable. Source of the rule: TFLM, reference/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_f32.h"

void kibi_fully_connected_f32_accumulate(float *output, const float *const *rows,
                                         const kibi_fully_connected_f32_accumulate_params *params, void *scratch,
                                         int32_t step)
{
    const kibi_fully_connected_f32_accumulate_params *const p = params;
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    float *sums = (float *)scratch + vector * p->output_channels;
    KIBI_ASSERT(scratch != NULL && (uintptr_t)scratch % sizeof(float) == 0 && vector >= 0 && vector < p->vectors);
    for (int32_t o = 0; o < p->output_channels; ++o) {
        const float *const w = KIBI_AT(float, p, filter) + (o * p->pieces + piece) * p->piece;
        sums[o] = kibi_dot_f32(piece == 0 ? 0.0f : sums[o], w, rows[0], p->piece);
    }
    if (step == p->vectors * p->pieces - 1) {
        sums = (float *)scratch;
        for (int32_t i = 0; i < p->vectors; ++i) {
            for (int32_t o = 0; o < p->output_channels; ++o) {
                *output++ = kibi_clamp_f32(*sums++ + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max);
            }
        }
    }
}
