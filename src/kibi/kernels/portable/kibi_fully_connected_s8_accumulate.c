/* FULLY_CONNECTED, int8, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_1x1_s8.h"
#include "kibi_dot_4x1_s8.h"
#include "kibi_requantize.h"

void kibi_fully_connected_s8_accumulate(int8_t *output, const int8_t *const *rows,
                                        const kibi_fully_connected_s8_accumulate_params *params, void *scratch,
                                        int32_t step)
{
    const kibi_fully_connected_s8_accumulate_params *const p = params;
    const int32_t depth = p->piece * p->pieces;
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    const int8_t *const w = KIBI_AT(int8_t, p, filter) + piece * p->piece;
    int32_t *sums = (int32_t *)scratch + vector * p->output_channels;
    const int32_t *start = piece == 0 ? KIBI_AT(int32_t, p, bias) : sums;
    int32_t o = 0;
    KIBI_ASSERT(scratch != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && vector >= 0 && vector < p->vectors);
    for (; o + 4 <= p->output_channels; o += 4) {
        kibi_dot_4x1_s8(sums + o, start + o, w + o * depth, depth, rows[0], p->piece);
    }
    for (; o < p->output_channels; ++o) {
        sums[o] = kibi_dot_1x1_s8(start[o], w + o * depth, rows[0], p->piece);
    }
    if (step == p->vectors * p->pieces - 1) {
        sums = (int32_t *)scratch;
        for (int32_t i = 0; i < p->vectors; ++i) {
            kibi_requantize_channels(output, sums, p->output_channels, KIBI_AT(int32_t, p, multiplier),
                                     KIBI_AT(int8_t, p, shift), p->output_zero_point, p->activation_min,
                                     p->activation_max);
            sums += p->output_channels;
            output += p->output_channels;
        }
    }
}
