/* DEPTHWISE_CONV_2D, int8, for processors with vectors. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d_s8_lanes.h"

#include <string.h>

#include "kibi_lanes.h"
#include "kibi_requantize_lanes.h"

typedef kibi_depthwise_conv2d_s8_lanes_params params_type;

#define VECTORS (KIBI_BLOCK / KIBI_LANES)

/* Sums of the block of channels under one pixel that starts with that one. Behind the last channel weights are zero, so
 * whatever follows in the row may be read there. */
static inline void add_up(int32_t sums[KIBI_BLOCK], const int8_t *const *rows, const params_type *p, int32_t start,
                          int32_t channel)
{
    const int8_t *w = KIBI_AT(int8_t, p, filter) + channel * p->kernel_rows * p->kernel_width;
    const int32_t size = p->input_width * p->channels;
    kibi_lanes total[VECTORS];
    int8_t outside[KIBI_BLOCK];
    int8_t end[KIBI_BLOCK] = {0};
    memset(outside, p->input_zero_point, sizeof outside);
    memcpy(total, KIBI_AT(int32_t, p, bias) + channel, sizeof total);
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t column = start;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int32_t offset = column * p->channels + channel;
            const int8_t *x = outside;
            if (column >= 0 && column < p->input_width) {
                x = rows[ky] + offset;
                if (size - offset < KIBI_BLOCK) {
                    x = (const int8_t *)memcpy(end, x, (size_t)(size - offset));
                }
            }
            KIBI_UNROLL
            for (int32_t v = 0; v < VECTORS; ++v) {
                total[v] = kibi_add_own(total[v], x + v * KIBI_LANES, w + v * KIBI_LANES);
            }
            w += KIBI_BLOCK;
            column += p->dilation;
        }
    }
    memcpy(sums, total, sizeof total);
}

void kibi_depthwise_conv2d_s8_lanes(int8_t *output, const int8_t *const *rows,
                                    const kibi_depthwise_conv2d_s8_lanes_params *params, void *scratch)
{
    const params_type *const p = params;
    const kibi_scaling scaling = {KIBI_AT(int32_t, p, multiplier), KIBI_AT(int32_t, p, left),
                                  KIBI_AT(int32_t, p, right),      p->output_zero_point,
                                  p->activation_min,               p->activation_max};
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        for (int32_t c = 0; c < p->channels; c += KIBI_BLOCK) {
            int32_t sums[KIBI_BLOCK];
            add_up(sums, rows, p, x * p->stride - p->pad, c);
            kibi_requantize_lanes(output + c, sums, &scaling, c, p->channels - c);
        }
        output += p->channels;
    }
}
