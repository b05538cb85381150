/* FULLY_CONNECTED, float, Armv7E-M: four channels at once. Source of the rule: TFLM, reference/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_f32_4x1.h"

enum { BLOCK = KIBI_DOT_F32_CHANNELS };

/* Computes the channels of one vector. */
static void vector_of(float *output, const float *const *rows, int32_t offset, const kibi_fully_connected_f32_params *p)
{
    const int32_t block = p->output_channels < BLOCK ? 1 : BLOCK;
    int32_t o = 0;
    while (o < p->output_channels) {
        /* The last block has the last four channels, of which some are computed already. */
        const int32_t first = o < p->output_channels - block ? o : p->output_channels - block;
        const float *w = KIBI_AT(float, p, filter) + first * p->depth;
        float sums[BLOCK] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int32_t k = 0; k < p->pieces; ++k) {
            if (block == BLOCK) {
                kibi_dot_f32_4x1(sums, w, p->depth, rows[k] + offset, p->piece);
            } else {
                sums[0] = kibi_dot_f32(sums[0], w, rows[k] + offset, p->piece);
            }
            w += p->piece;
        }
        for (; o < first + block; ++o) {
            *output++ = kibi_clamp_f32(sums[o - first] + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max);
        }
    }
}

void kibi_fully_connected_f32(float *output, const float *const *rows, const kibi_fully_connected_f32_params *params,
                              void *scratch)
{
    const kibi_fully_connected_f32_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->piece * p->pieces == p->depth && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        vector_of(output, rows, offset, p);
        output += p->output_channels;
        offset += p->depth;
        if (offset == p->vectors_per_row * p->depth) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
