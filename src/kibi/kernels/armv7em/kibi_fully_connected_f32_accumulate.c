/* FULLY_CONNECTED, float, by the rows of vectors, Armv7E-M: four channels at once. Source of the rule: TFLM,
 * reference/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_f32_4x1.h"

enum { BLOCK = KIBI_DOT_F32_CHANNELS };

void kibi_fully_connected_f32_accumulate(float *output, const float *const *rows,
                                         const kibi_fully_connected_f32_accumulate_params *params, void *scratch,
                                         int32_t step)
{
    const kibi_fully_connected_f32_accumulate_params *const p = params;
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    const int32_t depth = p->pieces * p->piece;
    const int32_t fours = p->output_channels & -BLOCK;
    const float *const w = KIBI_AT(float, p, filter) + piece * p->piece;
    float *sums = (float *)scratch + vector * p->output_channels;
    KIBI_ASSERT(scratch != NULL && (uintptr_t)scratch % sizeof(float) == 0 && vector >= 0 && vector < p->vectors);
    if (piece == 0) {
        for (int32_t o = 0; o < p->output_channels; ++o) {
            sums[o] = 0.0f;
        }
    }
    for (int32_t o = 0; o < fours; o += BLOCK) {
        kibi_dot_f32_4x1(sums + o, w + o * depth, depth, rows[0], p->piece);
    }
    for (int32_t o = fours; o < p->output_channels; ++o) {
        sums[o] = kibi_dot_f32(sums[o], w + o * depth, rows[0], p->piece);
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
