/* FULLY_CONNECTED, int8, two output channels in the halves of a word. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_halves_vector_s8.h"

void kibi_fully_connected_s8_halves(int8_t *output, const int8_t *const *rows,
                                    const kibi_fully_connected_s8_halves_params *params, void *scratch)
{
    const kibi_fully_connected_s8_halves_params *const p = params;
    kibi_halves_vector v;
    (void)scratch;
    KIBI_ASSERT(p->piece % 2 == 0 && (p->vectors_per_row == 1 || p->pieces == 1));
    v.offset = 0;
    v.piece = p->piece;
    v.rounding = 2 * p->output_zero_point + 1;
    v.low = p->activation_min;
    v.high = p->activation_max;
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        v.filter = KIBI_AT(int32_t, p, filter);
        v.breaks = (const uint32_t *)KIBI_AT(int32_t, p, breaks);
        v.bias = KIBI_AT(int32_t, p, bias);
        v.multiplier = KIBI_AT(int32_t, p, multiplier);
        v.shift = KIBI_AT(int8_t, p, shift);
        v.output = output;
        v.channels = p->output_channels;
        v.pieces = rows;
        v.pieces_end = rows + p->pieces;
        kibi_halves_vector_s8(&v);
        output += p->output_channels;
        v.offset += p->piece;
        if (v.offset == p->vectors_per_row * p->piece) {
            v.offset = 0;
            rows += p->pieces;
        }
    }
}
