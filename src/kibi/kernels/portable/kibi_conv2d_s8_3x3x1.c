/* CONV_2D, three by three on one channel, int8, portable: what the packed constants mean. Source of the rule: TFLM,
 * integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_add_product.h"
#include "kibi_requantize.h"

enum { TAPS = 9, WORDS = 7, LAST = TAPS - 1 };

void kibi_conv2d_s8_3x3x1(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_3x3x1_params *params,
                          void *scratch)
{
    const kibi_conv2d_s8_3x3x1_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t window[TAPS];
        for (int32_t i = 0; i < TAPS; ++i) {
            const int32_t column = x * p->stride - p->pad + i % 3;
            window[i] = column >= 0 && column < p->input_width ? rows[i / 3][column] : p->input_zero_point;
        }
        for (int32_t c = 0; c < p->output_channels; ++c) {
            const int32_t *const channel = KIBI_AT(int32_t, p, channels) + c * WORDS;
            const int32_t multiplier = (int32_t)((uint32_t)channel[6] >> 1);
            const int8_t shift = (int8_t) ~(channel[5] & 31);
            int32_t sum = kibi_add_product(channel[0], window[LAST], (int16_t)((uint32_t)channel[5] >> 16));
            for (int32_t i = 0; i < LAST; ++i) {
                sum = kibi_add_product(sum, window[i], (int16_t)((uint32_t)channel[1 + i / 2] >> (i % 2 * 16)));
            }
            kibi_requantize_channels(output++, &sum, 1, &multiplier, &shift, p->output_zero_point, p->activation_min,
                                     p->activation_max);
        }
    }
}
