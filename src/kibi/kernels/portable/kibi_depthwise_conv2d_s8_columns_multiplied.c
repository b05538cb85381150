/* DEPTHWISE_CONV_2D with a multiplier above 1, any window, int8, portable: the first output channel of every input channel, then the
 * second one, and so on, by the kernel for multiplier 1. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_every_nth.h"

enum { BLOCK = 4 };

/* Words of the constants of a pass. */
static int32_t pass_words(const kibi_depthwise_conv2d_s8_columns_multiplied_params *p)
{
    const int32_t each = p->kernel_rows / 2 * BLOCK + p->kernel_rows % 2 * (BLOCK / 2);
    return (p->channels + BLOCK - 1) / BLOCK * (2 * BLOCK + p->kernel_width * each);
}

void kibi_depthwise_conv2d_s8_columns_multiplied(int8_t *output, const int8_t *const *rows,
                                                 const kibi_depthwise_conv2d_s8_columns_multiplied_params *params,
                                                 void *scratch)
{
    const kibi_depthwise_conv2d_s8_columns_multiplied_params *const p = params;
    int8_t *const made = (int8_t *)scratch;
    kibi_depthwise_conv2d_s8_columns_params pass;
    KIBI_ASSERT(scratch != NULL);
    pass.input_width = p->input_width;
    pass.channels = p->channels;
    pass.input_zero_point = p->input_zero_point;
    pass.output_zero_point = p->output_zero_point;
    pass.activation_min = p->activation_min;
    pass.activation_max = p->activation_max;
    pass.kernel_rows = p->kernel_rows;
    pass.kernel_width = p->kernel_width;
    pass.stride = p->stride;
    pass.dilation = p->dilation;
    pass.pad = p->pad;
    for (int32_t left = p->output_width; left > 0; left -= p->pixels) {
        const int32_t pixels = left < p->pixels ? left : p->pixels;
        pass.output_width = (int16_t)pixels;
        pass.blocks = KIBI_AT(int32_t, p, blocks);
        for (int32_t m = 0; m < p->depth_multiplier; ++m) {
            kibi_depthwise_conv2d_s8_columns(made, rows, &pass, NULL);
            kibi_every_nth(output + m, made, pixels * p->channels, p->depth_multiplier);
            pass.blocks += pass_words(p);
        }
        output += pixels * p->channels * p->depth_multiplier;
        /* The next window begins further right, which is less padding. */
        pass.pad = (int16_t)(pass.pad - pixels * p->stride);
    }
}
