/* FULLY_CONNECTED, int16, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include <string.h>

#include "kibi_requantize_s16.h"

static void finish(int16_t *output, const char *sums, const kibi_fully_connected_s16_accumulate_params *p)
{
    for (int32_t i = 0; i < p->vectors; ++i) {
        for (int32_t o = 0; o < p->output_channels; ++o) {
            int64_t sum;
            (void)memcpy(&sum, sums, sizeof sum);
            sums += sizeof sum;
            *output++ = kibi_requantize_s16(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o],
                                            p->is_wide, p->output_zero_point, p->activation_min, p->activation_max);
        }
    }
}

void kibi_fully_connected_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                         const kibi_fully_connected_s16_accumulate_params *params, void *scratch,
                                         int32_t step)
{
    const kibi_fully_connected_s16_accumulate_params *const p = params;
    const int32_t depth = p->piece * p->pieces;
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    const int8_t *w = KIBI_AT(int8_t, p, filter) + piece * p->piece;
    char *place = (char *)scratch + (size_t)(vector * p->output_channels) * sizeof(int64_t);
    KIBI_ASSERT(scratch != NULL && vector >= 0 && vector < p->vectors);
    for (int32_t o = 0; o < p->output_channels; ++o) {
        /* Scratch is aligned to 4 where 64-bit numbers are to 8. */
        int64_t sum = KIBI_AT(int64_t, p, bias)[o];
        if (piece != 0) {
            (void)memcpy(&sum, place, sizeof sum);
        }
        sum = kibi_dot_s16(sum, w, rows[0], p->piece);
        (void)memcpy(place, &sum, sizeof sum);
        place += sizeof sum;
        w += depth;
    }
    if (step == p->vectors * p->pieces - 1) {
        finish(output, (const char *)scratch, p);
    }
}
