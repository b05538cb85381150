/* FULLY_CONNECTED, int8, Armv7E-M. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_conv2d_s8_single.h"
#include "kibi_dot_1x1_s8.h"
#include "kibi_requantize.h"

/* The channels after the last block of four, of one vector. */
static inline void rest(int8_t *output, const kibi_conv2d_s8_windows *at, int32_t first,
                        const kibi_fully_connected_s8_params *p)
{
    for (int32_t o = first; o < p->output_channels; ++o) {
        const int8_t *w = KIBI_AT(int8_t, p, filter) + o * p->depth;
        int32_t sum = KIBI_AT(int32_t, p, bias)[o];
        for (const int8_t *const *row = at->rows; row != at->rows_end; ++row) {
            sum = kibi_dot_1x1_s8(sum, w, *row + at->offset, p->piece);
            w += p->piece;
        }
        kibi_requantize_channels(output + o, &sum, 1, KIBI_AT(int32_t, p, multiplier) + o,
                                 KIBI_AT(int8_t, p, shift) + o, p->output_zero_point, p->activation_min,
                                 p->activation_max);
    }
}

void kibi_fully_connected_s8(int8_t *output, const int8_t *const *rows, const kibi_fully_connected_s8_params *params,
                             void *scratch)
{
    const kibi_fully_connected_s8_params *const p = params;
    const int32_t channels = p->output_channels & -4;
    kibi_conv2d_s8_windows at;
    (void)scratch;
    KIBI_ASSERT(p->piece * p->pieces == p->depth && (p->vectors_per_row == 1 || p->pieces == 1));
    at.rounding = 2 * p->output_zero_point + 1;
    at.filter = KIBI_AT(int8_t, p, filter);
    at.activation_min = p->activation_min;
    at.activation_max = p->activation_max;
    at.rows = rows;
    at.offset = 0;
    at.groups = p->piece & -4;
    at.count = p->piece;
    at.size = p->depth;
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        at.rows_end = at.rows + p->pieces;
        if (channels != 0) {
            at.multiplier = KIBI_AT(int32_t, p, multiplier);
            at.shift = KIBI_AT(int8_t, p, shift);
            at.output = output;
            at.bias = KIBI_AT(int32_t, p, bias);
            at.end = output + channels;
            kibi_conv2d_s8_single(&at);
        }
        rest(output, &at, channels, p);
        output += p->output_channels;
        at.offset += p->depth;
        if (at.offset == p->vectors_per_row * p->depth) {
            at.offset = 0;
            at.rows = at.rows_end;
        }
    }
}
