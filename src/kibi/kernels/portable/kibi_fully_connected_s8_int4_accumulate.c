/* FULLY_CONNECTED with a filter of int4, int8, row after row, portable. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_int4_4x1_s8.h"
#include "kibi_int4_s8.h"
#include "kibi_requantize.h"

void kibi_fully_connected_s8_int4_accumulate(int8_t *output, const int8_t *const *rows,
                                             const kibi_fully_connected_s8_int4_accumulate_params *params, void *scratch,
                                             int32_t step)
{
    const kibi_fully_connected_s8_int4_accumulate_params *const p = params;
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    const int32_t words = kibi_int4_words(p->piece);
    const int32_t *w = KIBI_AT(int32_t, p, filter) + piece * words;
    int32_t *const kept = (int32_t *)scratch + vector * p->output_channels;
    const int32_t *const start = piece == 0 ? KIBI_AT(int32_t, p, bias) : kept;
    const uint32_t excess = kibi_int4_excess(rows[0], p->piece);
    int32_t block[KIBI_INT4_CHANNELS] = {0}; /* what is there for channels after the last one is of no use */
    KIBI_ASSERT(scratch != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && vector >= 0 && vector < p->vectors);
    for (int32_t o = 0; o < p->output_channels; o += KIBI_INT4_CHANNELS) {
        const int32_t count = kibi_int4_channels(p->output_channels - o);
        kibi_int4_start(block, start + o, count, excess);
        kibi_dot_int4_4x1_s8(block, w, rows[0], p->piece);
        for (int32_t i = 0; i < count; ++i) {
            kept[o + i] = block[i];
        }
        w += p->pieces * words;
    }
    if (step == p->vectors * p->pieces - 1) {
        const int32_t *sums = (const int32_t *)scratch;
        for (int32_t i = 0; i < p->vectors; ++i) {
            kibi_requantize_channels(output, sums, p->output_channels, KIBI_AT(int32_t, p, multiplier),
                                     KIBI_AT(int8_t, p, shift), p->output_zero_point, p->activation_min,
                                     p->activation_max);
            sums += p->output_channels;
            output += p->output_channels;
        }
    }
}
