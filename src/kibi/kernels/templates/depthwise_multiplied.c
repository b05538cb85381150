/* Depthwise convolutions whose input channels have several output channels. kibi/kernels/templates.py says how a template is read. */

/*= kibi_depthwise_conv2d_KIND_multiplied
 *  KIND: f32 s16_blocks
 *  ELEMENT f32: float
 *  ELEMENT s16_blocks: int16_t
 *  CHANNELS f32: p->input_channels
 *  CHANNELS s16_blocks: p->channels
 *  STEP f32: p->kernel_rows * p->kernel_width * channels
 *  STEP s16_blocks: (channels + 3) / 4 * (8 + p->kernel_rows * p->kernel_width)
 *  FIRST f32: KIBI_AT(float, p, filter) + m * step, KIBI_AT(float, p, bias) + m * channels, p->input_width, channels, 1, pixels
 *  FIRST s16_blocks: KIBI_AT(int32_t, p, blocks) + m * step, p->input_width, p->channels, (int16_t)pixels, p->activation_min
 *  MIDDLE f32: p->kernel_rows, p->kernel_width, p->stride, p->dilation, pad, p->activation_min
 *  MIDDLE s16_blocks: p->activation_max, p->kernel_rows, p->kernel_width, p->stride, p->dilation
 *  LAST f32: p->activation_max
 *  LAST s16_blocks: (int16_t)pad
 *  DEPTHWISE_CONV_2D with a multiplier above 1: the first output channel of every input channel, then the second one, and so on, by
 * the kernel for multiplier 1. Source of the rule: TFLM, depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

void KERNEL(ELEMENT *output, const ELEMENT *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const int32_t channels = CHANNELS;
    const int32_t step = STEP; /* of constants, from a pass to the next one */
    ELEMENT *const made = (ELEMENT *)scratch;
    int32_t pad = p->pad;
    KIBI_ASSERT(scratch != NULL);
    for (int32_t left = p->output_width; left > 0; left -= p->pixels) {
        const int32_t pixels = left < p->pixels ? left : p->pixels;
        const int32_t count = pixels * channels;
        for (int32_t m = 0; m < p->depth_multiplier; ++m) {
            const kibi_depthwise_conv2d_KIND_params pass = {
                FIRST,
                MIDDLE,
                LAST};
            ELEMENT *to = output + m;
            kibi_depthwise_conv2d_KIND(made, rows, &pass, NULL);
            for (int32_t i = 0; i < count; ++i) {
                *to = made[i];
                to += p->depth_multiplier;
            }
        }
        output += count * p->depth_multiplier;
        /* The next window begins further right, which is less padding. */
        pad -= pixels * p->stride;
    }
}
