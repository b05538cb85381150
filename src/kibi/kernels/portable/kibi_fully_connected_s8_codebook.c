/* FULLY_CONNECTED with a filter of indices into tables, int8, portable. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_dot_1x1_s8.h"
#include "kibi_codebook_s8.h"
#include "kibi_requantize.h"

/* Weights that are decoded at once, on the stack. */
enum { AT_ONCE = 64 };

/* The sum of one output channel over one piece of an input vector; `first` is the number of its first weight. */
static int32_t sum_piece(int32_t sum, const int8_t *x, int32_t first, const int8_t *table,
                         const kibi_fully_connected_s8_codebook_params *p)
{
    int8_t weights[AT_ONCE];
    int32_t count;
    for (int32_t k = 0; k < p->piece; k += count) {
        count = p->piece - k < AT_ONCE ? p->piece - k : (int32_t)AT_ONCE;
        kibi_codebook_s8(weights, KIBI_AT(int8_t, p, indices), table, p->bits, first + k, count);
        sum = kibi_dot_1x1_s8(sum, weights, x + k, count);
    }
    return sum;
}

void kibi_fully_connected_s8_codebook(int8_t *output, const int8_t *const *rows,
                                      const kibi_fully_connected_s8_codebook_params *params, void *scratch)
{
    const kibi_fully_connected_s8_codebook_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->piece * p->pieces == p->depth && (p->vectors_per_row == 1 || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        for (int32_t o = 0; o < p->output_channels; ++o) {
            int32_t sum = KIBI_AT(int32_t, p, bias)[o];
            for (int32_t piece = 0; piece < p->pieces; ++piece) {
                const int32_t first = o * p->depth + piece * p->piece;
                sum = sum_piece(sum, rows[piece] + offset, first, KIBI_AT(int8_t, p, tables) + o * p->values, p);
            }
            kibi_requantize_channels(output + o, &sum, 1, KIBI_AT(int32_t, p, multiplier) + o,
                                     KIBI_AT(int8_t, p, shift) + o, p->output_zero_point, p->activation_min,
                                     p->activation_max);
        }
        output += p->output_channels;
        offset += p->depth;
        if (offset == p->vectors_per_row * p->depth) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
