/* FULLY_CONNECTED, int8, of vectors many of whose elements are zero, which are left out. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"
#include "kibi_nonzero_sums_s8.h"
#include "kibi_requantize.h"

/* Each element of a vector that is not zero, and how far it is from the one before; returns the sum of all. */
static uint32_t find_steps(uint8_t *steps, const int8_t *const *pieces, int32_t offset,
                           const kibi_fully_connected_s8_nonzero_params *p)
{
    uint32_t total = 0, distance = 0;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *x = pieces[piece] + offset;
        const int8_t *const end = x + p->piece;
        while (x != end) {
            const uint32_t value = (uint32_t)(*x++ - INT8_MIN);
            ++distance;
            /* A step has a byte: where it would be longer, a zero is one of the elements. */
            if (value != 0u || distance == UINT8_MAX) {
                *steps++ = (uint8_t)distance;
                *steps++ = (uint8_t)value;
                total += value;
                distance = 0;
            }
        }
    }
    steps[0] = 0;
    steps[1] = 0;
    return total;
}

void kibi_fully_connected_s8_nonzero(int8_t *output, const int8_t *const *rows,
                                     const kibi_fully_connected_s8_nonzero_params *params, void *scratch)
{
    const kibi_fully_connected_s8_nonzero_params *const p = params;
    int32_t offset = 0;
    for (int32_t vector = 0; vector < p->vectors; ++vector) {
        const uint64_t more = 128u * (uint64_t)find_steps((uint8_t *)scratch, rows, offset, p);
        kibi_nonzero_sums layer;
        layer.filter = KIBI_AT(int64_t, p, filter);
        layer.steps = (const uint8_t *)scratch;
        layer.scales = KIBI_AT(int32_t, p, scales);
        layer.output = output;
        layer.block_bytes = (KIBI_NONZERO_SUMS + p->pieces * p->piece) * (int32_t)sizeof(int64_t);
        layer.blocks = p->output_channels / KIBI_NONZERO_CHANNELS;
        layer.scale_step = p->scale_step;
        layer.rounding = p->rounding;
        layer.second_less = more + (more << 24);
        layer.first_less = layer.second_less + (more << 8) + (more << 16);
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
