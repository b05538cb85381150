/* FULLY_CONNECTED, int8, packed weights, portable. Source of the rule: TFLM, integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include "kibi_packed_pairs_s8.h"
#include "kibi_requantize.h"
#include "kibi_round_once.h"

/* Sums of a block's channels over an input vector; the first piece starts `offset` elements after its pointer. Returns the
 * next block. */
static const int32_t *sum_block(uint32_t *sums, int32_t block, const int32_t *from, const int8_t *const *pieces,
                                int32_t offset, const kibi_fully_connected_s8_blocks_params *p)
{
    for (int32_t o = 0; o < block; ++o) {
        sums[o] = (uint32_t)*from++;
    }
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *const x = pieces[piece] + offset;
        for (int32_t k = 0; k < p->piece; k += 4) {
            for (int32_t o = 0; o < block; ++o) {
                sums[o] = kibi_add_word_s8(sums[o], *from++, x + k, p->piece - k);
            }
        }
    }
    return from;
}

/* The outputs of one vector. */
static void one_vector(int8_t *output, const int8_t *const *pieces, int32_t offset,
                       const kibi_fully_connected_s8_blocks_params *p)
{
    const int32_t *from = KIBI_AT(int32_t, p, filter);
    const int32_t *scale = KIBI_AT(int32_t, p, scales);
    int32_t block;
    for (int32_t left = p->output_channels; left > 0; left -= block) {
        uint32_t sums[8];
        block = left < 8 ? left : 8;
        for (int32_t o = 0; o < block; o += block < 8 ? 2 : 8) {
            from = sum_block(sums + o, block < 8 ? 2 : 8, from, pieces, offset, p);
        }
        for (int32_t o = 0; o < block; ++o) {
            const int32_t odd = o & 1;
            const int32_t zero_point = p->rounding >> 1;
            int32_t value;
            if (p->rounds_once != 0) {
                value = kibi_round_once((int32_t)sums[o], scale[1 + odd], zero_point, KIBI_CONV2D_FRACTION_BITS);
            } else {
                const int32_t shift = ~((scale[0] >> 8 * odd) & 31);
                value = kibi_requantize((int32_t)sums[o] >> 8, scale[1 + odd], shift) + zero_point;
            }
            *output++ = (int8_t)kibi_clamp(value, p->activation_min, p->activation_max);
            scale += odd * (p->scale_step / (int32_t)sizeof(int32_t));
        }
    }
}

void kibi_fully_connected_s8_blocks(int8_t *output, const int8_t *const *rows,
                                    const kibi_fully_connected_s8_blocks_params *params, void *scratch)
{
    const kibi_fully_connected_s8_blocks_params *const p = params;
    int32_t offset = 0;
    (void)scratch;
    KIBI_ASSERT(p->row_elements % p->piece == 0 && (p->row_elements == p->piece || p->pieces == 1));
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        one_vector(output, rows, offset, p);
        output += p->output_channels;
        offset += p->piece;
        if (offset == p->row_elements) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
