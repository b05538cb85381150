/* FULLY_CONNECTED, int8, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected_s8.h"

#include "kibi_dot_s8.h"
#include "kibi_requantize.h"

/* One output vector from an input vector in pieces; the first starts `offset` elements behind its pointer. */
static void one_vector(int8_t *output, const int8_t *const *pieces, int32_t offset, const kibi_fully_connected_s8_params *p)
{
    const int8_t *w0 = p->filter;
    for (int32_t o = 0; o < p->output_channels; o += 2) {
        const int is_pair = o + 1 < p->output_channels;
        const int32_t other = is_pair ? o + 1 : o;
        const int8_t *w1 = is_pair ? w0 + p->depth : w0;
        int32_t sum[2] = {p->bias[o], p->bias[other]};
        int32_t k = 0;
        for (int32_t done = 0; done < p->depth; done += p->piece) {
            kibi_dot_2x1_s8(w0, w1, pieces[k++] + offset, p->piece, sum);
            w0 += p->piece;
            w1 += p->piece;
        }
        for (int32_t i = 0; o + i <= other; ++i) {
            const int32_t scaled = kibi_requantize(sum[i], p->multiplier[o + i], p->shift[o + i]);
            output[o + i] = (int8_t)kibi_clamp(scaled + p->output_zero_point, p->activation_min, p->activation_max);
        }
        w0 = w1;
    }
}

void kibi_fully_connected_s8(int8_t *output, const int8_t *const *rows, const kibi_fully_connected_s8_params *params,
                             void *scratch)
{
    const kibi_fully_connected_s8_params *const p = params;
    (void)scratch;
    KIBI_ASSERT(p->vectors_per_row == 1 || p->piece == p->depth);
    for (int32_t done = 0; done < p->vectors; done += p->vectors_per_row) {
        for (int32_t i = 0; i < p->vectors_per_row; ++i) {
            one_vector(output, rows, i * p->depth, p);
            output += p->output_channels;
        }
        for (int32_t used = 0; used < p->depth; used += p->piece) {
            ++rows;
        }
    }
}
