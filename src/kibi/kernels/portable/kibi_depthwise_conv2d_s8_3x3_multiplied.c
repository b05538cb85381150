/* DEPTHWISE_CONV_2D with a multiplier above 1, three by three, int8, portable: what the packed blocks mean. Source of the rule:
 * TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_depthwise_conv2d_s8_3x3_row.h"
#include "kibi_every_nth.h"

void kibi_depthwise_conv2d_s8_3x3_multiplied(int8_t *output, const int8_t *const *rows,
                                             const kibi_depthwise_conv2d_s8_3x3_multiplied_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_3x3_multiplied_params *const p = params;
    int8_t *const made = (int8_t *)scratch;
    kibi_depthwise_row row = {KIBI_AT(int32_t, p, blocks), p->input_width,  p->channels,
                              p->input_zero_point,         p->output_width, p->output_zero_point,
                              p->activation_min,           p->activation_max, p->stride,
                              p->dilation,                 p->pad};
    KIBI_ASSERT(scratch != NULL);
    for (int32_t left = p->output_width; left > 0; left -= p->pixels) {
        row.output_width = left < p->pixels ? left : p->pixels;
        row.blocks = KIBI_AT(int32_t, p, blocks);
        for (int32_t m = 0; m < p->depth_multiplier; ++m) {
            kibi_depthwise_row_3x3(made, rows, &row);
            kibi_every_nth(output + m, made, row.output_width * p->channels, p->depth_multiplier);
            row.blocks += (p->channels + BLOCK - 1) / BLOCK * BLOCK_WORDS;
        }
        output += row.output_width * p->channels * p->depth_multiplier;
        /* The next window begins further right, which is less padding. */
        row.pad -= row.output_width * p->stride;
    }
}
