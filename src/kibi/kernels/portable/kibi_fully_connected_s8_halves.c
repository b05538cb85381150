/* FULLY_CONNECTED, int8, four output channels in a word. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_halves_vector_s8.h"

#if KIBI_HALVES_OF_ZEROS
enum { FLAGS = 32 };

/* Finds the sum of a vector's elements, each plus 128, and what those that are then 0 save. */
static void weigh(kibi_halves_vector *v, const int8_t *const *rows, const kibi_fully_connected_s8_halves_params *p)
{
    uint32_t total = 128u * (uint32_t)p->pieces * (uint32_t)p->piece;
    int32_t zeros = 0;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *x = rows[piece] + v->offset;
        const int8_t *const end = x + p->piece;
        while (x != end) {
            const int32_t element = *x++;
            zeros += element == INT8_MIN ? 1 : 0;
            total += (uint32_t)element;
        }
    }
    v->total = total;
    v->saved = zeros * 3 / 8; /* an element of eight channels takes 14 instructions less, an end about 35 */
}
#endif

void kibi_fully_connected_s8_halves(int8_t *output, const int8_t *const *rows,
                                    const kibi_fully_connected_s8_halves_params *params, void *scratch)
{
    const kibi_fully_connected_s8_halves_params *const p = params;
    kibi_halves_vector v;
    (void)scratch;
    KIBI_ASSERT(p->vectors_per_row == 1 || p->pieces == 1);
    v.offset = 0;
    v.piece = p->piece;
    v.rounding = 2 * p->output_zero_point + 1;
    v.low = p->activation_min;
    v.high = p->activation_max;
#if KIBI_HALVES_OF_ZEROS
    v.flags_bytes = (p->piece * p->pieces + FLAGS - 1) / FLAGS * (int32_t)sizeof(uint32_t);
    v.saved = -1;
#endif
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
#if KIBI_HALVES_OF_ZEROS
        if (p->numbers > 0) {
            weigh(&v, rows, p);
        }
#endif
        kibi_halves_vector_s8(&v);
        output += p->output_channels;
        v.offset += p->piece;
        if (v.offset == p->vectors_per_row * p->piece) {
            v.offset = 0;
            rows += p->pieces;
        }
    }
}
