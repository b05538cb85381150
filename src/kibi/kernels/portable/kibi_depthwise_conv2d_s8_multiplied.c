/* DEPTHWISE_CONV_2D with a multiplier above 1, int8, portable: the first output channel of every input channel, then the second one,
 * and so on, by the kernel for multiplier 1. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_every_nth.h"

void kibi_depthwise_conv2d_s8_multiplied(int8_t *output, const int8_t *const *rows,
                                         const kibi_depthwise_conv2d_s8_multiplied_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_multiplied_params *const p = params;
    const int32_t taps = p->kernel_rows * p->kernel_width * p->channels;
    int8_t *const made = (int8_t *)scratch;
    kibi_depthwise_conv2d_s8_params pass;
    KIBI_ASSERT(scratch != NULL);
    pass.input_width = p->input_width;
    pass.channels = p->channels;
    pass.input_zero_point = p->input_zero_point;
    pass.output_width = p->pixels;
    pass.output_zero_point = p->output_zero_point;
    pass.activation_min = p->activation_min;
    pass.activation_max = p->activation_max;
    pass.kernel_rows = p->kernel_rows;
    pass.kernel_width = p->kernel_width;
    pass.stride = p->stride;
    pass.dilation = p->dilation;
    pass.pad = p->pad;
    for (int32_t left = p->output_width; left > 0; left -= p->pixels) {
        pass.output_width = left < p->pixels ? left : p->pixels;
        pass.filter = KIBI_AT(int8_t, p, filter);
        pass.bias = KIBI_AT(int32_t, p, bias);
        pass.multiplier = KIBI_AT(int32_t, p, multiplier);
        pass.shift = KIBI_AT(int8_t, p, shift);
        for (int32_t m = 0; m < p->depth_multiplier; ++m) {
            kibi_depthwise_conv2d_s8(made, rows, &pass, NULL);
            kibi_every_nth(output + m, made, pass.output_width * p->channels, p->depth_multiplier);
            pass.filter += taps;
            pass.bias += p->channels;
            pass.multiplier += p->channels;
            pass.shift += p->channels;
        }
        output += pass.output_width * p->channels * p->depth_multiplier;
        /* The next window begins further right, which is less padding. */
        pass.pad -= pass.output_width * p->stride;
    }
}
