/* FULLY_CONNECTED, int8, of vectors many of whose elements are zero, which are left out. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"
#include "kibi_nonzero_sums_s8.h"
#include "kibi_requantize.h"

/* Cycles of a core with DSP instructions and without wait states: of an element for a block of channels, by itself (at most) and
 * without gaps, and to list it (at most). Where a flash has wait states, a gap saves more. */
enum { ITSELF = 13, WITHOUT_GAPS = 11, LISTED = 8 };

/* True if the products of elements that are not zero take longer than those of all, with the list of them. */
static int is_dense(int32_t depth, int32_t zeros, int32_t blocks)
{
    return ((ITSELF - WITHOUT_GAPS) * blocks + LISTED) * depth > ITSELF * blocks * zeros;
}

/* Raises the elements of a vector. */
static kibi_nonzero_counts raise_vector(uint8_t *raised, const int8_t *const *pieces, int32_t offset,
                                        const kibi_fully_connected_s8_nonzero_params *p)
{
    kibi_nonzero_counts counts;
    counts.total = 0;
    counts.zeros = 0;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        kibi_nonzero_raise_s8(raised, pieces[piece] + offset, p->piece, &counts);
        raised += p->piece;
    }
    return counts;
}

void kibi_fully_connected_s8_nonzero(int8_t *output, const int8_t *const *rows,
                                     const kibi_fully_connected_s8_nonzero_params *params, void *scratch)
{
    const kibi_fully_connected_s8_nonzero_params *const p = params;
    const int32_t depth = p->pieces * p->piece;
    const uint32_t words = ((uint32_t)depth + 3u) / 4u;
    const int32_t blocks = (int32_t)((uint32_t)p->output_channels / KIBI_NONZERO_CHANNELS);
    /* The list is written from the scratch's first byte on, and reaches no element that is not read. */
    uint8_t *const list = (uint8_t *)scratch;
    uint8_t *const raised = list + ((uint32_t)depth + 5u) / 4u * 4u;
    int32_t offset = 0;
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        kibi_nonzero_counts counts;
        kibi_nonzero_sums layer;
        for (uint32_t after = 1; after < 4u; ++after) { /* zeros after the last element, until words are whole */
            raised[4u * words - after] = 0;
        }
        counts = raise_vector(raised, rows, offset, p);
        layer.filter = KIBI_AT(int64_t, p, filter);
        layer.scales = KIBI_AT(int32_t, p, scales);
        layer.output = output;
        layer.block_bytes = (KIBI_NONZERO_SUMS + depth) * (int32_t)sizeof(int64_t);
        layer.blocks = blocks;
        layer.scale_step = p->scale_step;
        layer.rounding = p->rounding;
        layer.more = -128 * (int32_t)counts.total;
        layer.has_gaps = is_dense(depth, (int32_t)counts.zeros, blocks) ? 0 : 1;
        layer.elements = raised;
        layer.count = depth;
        if (layer.has_gaps != 0) {
            layer.elements = list;
            kibi_nonzero_list_s8(list, raised, (int32_t)words, &layer.count);
        }
        kibi_nonzero_sums_s8(&layer);
        for (int32_t o = 0; o < p->output_channels && p->clamps != 0; ++o) {
            output[o] = (int8_t)kibi_clamp(output[o], p->activation_min, p->activation_max);
        }
        output += p->output_channels;
        offset += p->piece;
        if (offset == p->row_elements) {
            offset = 0;
            rows += p->pieces;
        }
    }
}
