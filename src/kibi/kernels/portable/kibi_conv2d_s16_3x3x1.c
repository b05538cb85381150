/* CONV_2D, int16, with windows of three by three on one input channel, from constants that are packed for it, in plain C. Source of
 * the rule: TFLM, integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d_s16_packed.h"

#include "kibi_requantize.h"

/* A sum, plus the products of a word's two weights. */
static uint32_t add_pair(uint32_t sum, int32_t word, int32_t x0, int32_t x1)
{
    sum += (uint32_t)((int16_t)((uint32_t)word & 0xFFFFu) * x0);
    return sum + (uint32_t)((int16_t)((uint32_t)word >> 16) * x1);
}

/* An element of a row, 0 outside. */
static int32_t element(const int16_t *row, int32_t column, int32_t width)
{
    return row != NULL && column >= 0 && column < width ? row[column] : 0;
}

void kibi_conv2d_s16_3x3x1(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_3x3x1_params *params, void *scratch)
{
    const kibi_conv2d_s16_3x3x1_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t *channel = KIBI_AT(int32_t, p, channels);
        int32_t window[3][3];
        for (int32_t y = 0; y < 3; ++y) {
            for (int32_t k = 0; k < 3; ++k) {
                window[y][k] = element(rows[y], x - p->pad + k, p->input_width);
            }
        }
        for (int32_t o = 0; o < p->output_channels; ++o) {
            uint32_t sum = (uint32_t)channel[0];
            int64_t product;
            sum = add_pair(sum, channel[2], window[0][0], window[0][1]);
            sum = add_pair(sum, channel[3], window[1][0], window[1][1]);
            sum = add_pair(sum, channel[4], window[2][0], window[2][1]);
            sum = add_pair(sum, channel[5], window[0][2], window[1][2]);
            sum = add_pair(sum, channel[6], window[2][2], 0);
            product = (int64_t)(int32_t)sum * channel[1];
            *output++ = (int16_t)kibi_clamp((int32_t)((product + ((int64_t)1 << 31)) >> 32), p->activation_min, p->activation_max);
            channel += 7;
        }
    }
}
