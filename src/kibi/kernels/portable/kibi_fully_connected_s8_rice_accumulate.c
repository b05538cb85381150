/* FULLY_CONNECTED with a filter of Golomb-Rice codes, int8, row after row, portable. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. Codes give weights that are higher by their channel's coding: rule N49. */
#include "kibi_fully_connected.h"

#include "kibi_requantize.h"
#include "kibi_rice_codes.h"

void kibi_fully_connected_s8_rice_accumulate(int8_t *output, const int8_t *const *rows,
                                             const kibi_fully_connected_s8_rice_accumulate_params *params, void *scratch,
                                             int32_t step)
{
    const kibi_fully_connected_s8_rice_accumulate_params *const p = params;
    const int8_t *const x = rows[0];
    /* After the sums, the number of the next bit is stored. */
    uint32_t *const sums = (uint32_t *)scratch;
    uint32_t *const place = sums + p->output_channels;
    kibi_rice_codes from =
        kibi_rice_codes_at(KIBI_AT(int8_t, p, weights), p->weights_bytes, step == 0 ? 0 : *place);
    uint32_t total = 0;
    KIBI_ASSERT(scratch != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->pieces);
    for (int32_t i = 0; i < p->piece; ++i) {
        const int32_t element = x[i];
        total += (uint32_t)element;
    }
    for (int32_t o = 0; o < p->output_channels; ++o) {
        const uint32_t coding = (uint8_t)KIBI_AT(int8_t, p, codings)[o];
        const uint32_t start = step == 0 ? (uint32_t)KIBI_AT(int32_t, p, bias)[o] : sums[o];
        from.k = kibi_rice_k(coding);
        sums[o] = kibi_dot_rice_s8(start - coding * total, x, p->piece, &from);
    }
    *place = from.at;
    if (step == p->pieces - 1) {
        for (int32_t o = 0; o < p->output_channels; ++o) {
            const int32_t sum = (int32_t)sums[o];
            kibi_requantize_channels(output + o, &sum, 1, KIBI_AT(int32_t, p, multiplier) + o * p->scale_step,
                                     KIBI_AT(int8_t, p, shift) + o * p->scale_step, p->output_zero_point,
                                     p->activation_min, p->activation_max);
        }
    }
}
