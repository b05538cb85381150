/* DEPTHWISE_CONV_2D, float, portable. Source of the rule: TFLM, reference/depthwiseconv_float.h, DepthwiseConv. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_float.h"

/* The sum of an output channel over the columns `first` … `end` - 1 of a window; column 0 would be at `place` in each row. */
static float sum_of(const float *const *rows, const float *w, int32_t place, int32_t first, int32_t end,
                    const kibi_depthwise_conv2d_f32_params *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    const int32_t step = p->dilation * p->input_channels;
    float sum = 0.0f;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const float *const row = rows[ky];
            for (int32_t kx = first; kx < end; ++kx) {
                sum += row[place + kx * step] * w[(ky * p->kernel_width + kx) * outputs];
            }
        }
    }
    return sum;
}

void kibi_depthwise_conv2d_f32(float *output, const float *const *rows, const kibi_depthwise_conv2d_f32_params *params,
                               void *scratch)
{
    const kibi_depthwise_conv2d_f32_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        int32_t first = 0;
        int32_t end = p->kernel_width;
        int32_t o = 0;
        while (first < end && start + first * p->dilation < 0) {
            ++first;
        }
        while (end > first && start + (end - 1) * p->dilation >= p->input_width) {
            --end;
        }
        for (int32_t c = 0; c < p->input_channels; ++c) {
            for (int32_t m = 0; m < p->depth_multiplier; ++m) {
                const float sum = sum_of(rows, KIBI_AT(float, p, filter) + o, start * p->input_channels + c, first, end,
                                         p);
                *output++ = kibi_clamp_f32(sum + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max);
                ++o;
            }
        }
    }
}
