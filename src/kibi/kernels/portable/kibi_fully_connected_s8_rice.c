/* FULLY_CONNECTED with a filter of Golomb-Rice codes, int8, portable. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. Codes give weights that are higher by their channel's coding: rule N49. */
#include "kibi_fully_connected.h"

#include "kibi_requantize.h"
#include "kibi_rice_codes.h"

/* The sum of an input vector's elements. */
static uint32_t total_of(const int8_t *const *pieces, int32_t offset, const kibi_fully_connected_s8_rice_params *p)
{
    uint32_t total = 0;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        for (int32_t i = 0; i < p->piece; ++i) {
            const int32_t element = pieces[piece][offset + i];
            total += (uint32_t)element;
        }
    }
    return total;
}

void kibi_fully_connected_s8_rice(int8_t *output, const int8_t *const *rows,
                                  const kibi_fully_connected_s8_rice_params *params, void *scratch)
{
    const kibi_fully_connected_s8_rice_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->weights_bytes >= 4 && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        const uint32_t total = total_of(rows, offset, p);
        kibi_rice_codes from = kibi_rice_codes_at(KIBI_AT(int8_t, p, weights), p->weights_bytes, 0);
        for (int32_t o = 0; o < p->output_channels; ++o) {
            const uint32_t coding = (uint8_t)KIBI_AT(int8_t, p, codings)[o];
            uint32_t sum = (uint32_t)KIBI_AT(int32_t, p, bias)[o] - coding * total;
            int32_t done;
            from.k = kibi_rice_k(coding);
            for (int32_t piece = 0; piece < p->pieces; ++piece) {
                sum = kibi_dot_rice_s8(sum, rows[piece] + offset, p->piece, &from);
            }
            done = (int32_t)sum;
            kibi_requantize_channels(output + o, &done, 1, KIBI_AT(int32_t, p, multiplier) + o * p->scale_step,
                                     KIBI_AT(int8_t, p, shift) + o * p->scale_step, p->output_zero_point,
                                     p->activation_min, p->activation_max);
        }
        output += p->output_channels;
        offset += p->piece;
        if (offset == p->vectors_per_row * p->piece) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
