/* DEPTHWISE_CONV_2D, int8, portable. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d_s8.h"

#include "kibi_requantize.h"

static KIBI_NOINLINE void finish(int8_t *output, const int32_t *sums, const kibi_depthwise_conv2d_s8_params *p, int32_t channel,
                                 int32_t count)
{
    kibi_requantize_channels(output + channel, sums, count, p->multiplier + channel, p->shift + channel,
                             p->output_zero_point, p->activation_min, p->activation_max);
}

/* Four neighbouring channels of one pixel. Taps outside the input meet the zero point, as the folded bias expects. */
static KIBI_NOINLINE void four_channels(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p, int32_t start,
                          int32_t c)
{
    const int32_t channels = p->channels;
    const int32_t zero = p->input_zero_point;
    const int8_t *w = p->filter + c;
    int32_t s0 = p->bias[c];
    int32_t s1 = p->bias[c + 1];
    int32_t s2 = p->bias[c + 2];
    int32_t s3 = p->bias[c + 3];
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        const int8_t *const row = rows[ky] + c;
        int32_t column = start;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            if ((uint32_t)column < (uint32_t)p->input_width) {
                const int8_t *const x = row + column * channels;
                s0 += x[0] * w[0];
                s1 += x[1] * w[1];
                s2 += x[2] * w[2];
                s3 += x[3] * w[3];
            } else {
                s0 += zero * w[0];
                s1 += zero * w[1];
                s2 += zero * w[2];
                s3 += zero * w[3];
            }
            w += channels;
            column += p->dilation;
        }
    }
    const int32_t sums[4] = {s0, s1, s2, s3};
    finish(output, sums, p, c, 4);
}

static KIBI_NOINLINE void one_channel(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p, int32_t start,
                        int32_t c)
{
    const int8_t *w = p->filter + c;
    int32_t sum = p->bias[c];
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t column = start;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int is_inside = (uint32_t)column < (uint32_t)p->input_width;
            sum += (is_inside ? rows[ky][column * p->channels + c] : p->input_zero_point) * *w;
            w += p->channels;
            column += p->dilation;
        }
    }
    finish(output, &sum, p, c, 1);
}

void kibi_depthwise_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params,
                              void *scratch)
{
    (void)scratch;
    for (int32_t x = 0; x < params->output_width; ++x) {
        const int32_t start = x * params->stride - params->pad;
        int32_t c = 0;
        for (; c + 4 <= params->channels; c += 4) {
            four_channels(output, rows, params, start, c);
        }
        for (; c < params->channels; ++c) {
            one_channel(output, rows, params, start, c);
        }
        output += params->channels;
    }
}
