/* DEPTHWISE_CONV_2D with a multiplier above 1, three by three, int8, Armv7E-M: the first output channel of every input channel, then
 * the second one, and so on. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_depthwise_conv2d_s8_3x3_row.h"
#include "kibi_every_nth.h"

enum { BLOCK_WORDS = 26 };

static KIBI_NOINLINE KIBI_NAKED void compute(KIBI_IN_REGISTER kibi_depthwise_pixels *at)
{
    KIBI_DEPTHWISE_3X3(KIBI_REQUANTIZE_BLOCK);
}

void kibi_depthwise_conv2d_s8_3x3_multiplied(int8_t *output, const int8_t *const *rows,
                                             const kibi_depthwise_conv2d_s8_3x3_multiplied_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_3x3_multiplied_params *const p = params;
    int8_t *const made = (int8_t *)scratch;
    kibi_depthwise_conv2d_s8_3x3_params row; /* but for the blocks */
    const uint32_t rounding = (uint32_t)(2 * p->output_zero_point + 1);
    KIBI_ASSERT(scratch != NULL);
    row.input_width = p->input_width;
    row.channels = p->channels;
    row.input_zero_point = p->input_zero_point;
    row.output_zero_point = p->output_zero_point;
    row.activation_min = p->activation_min;
    row.activation_max = p->activation_max;
    row.stride = p->stride;
    row.dilation = p->dilation;
    row.pad = p->pad;
    for (int32_t left = p->output_width; left > 0; left -= p->pixels) {
        const int32_t *blocks = KIBI_AT(int32_t, p, blocks);
        row.output_width = (int16_t)(left < p->pixels ? left : p->pixels);
        for (int32_t m = 0; m < p->depth_multiplier; ++m) {
            kibi_depthwise_row_3x3(made, rows, &row, blocks, rounding, compute);
            kibi_every_nth(output + m, made, row.output_width * p->channels, p->depth_multiplier);
            blocks += (p->channels + BLOCK - 1) / BLOCK * BLOCK_WORDS;
        }
        output += row.output_width * p->channels * p->depth_multiplier;
        /* The next window begins further right, which is less padding. */
        row.pad = (int16_t)(row.pad - row.output_width * p->stride);
    }
}
