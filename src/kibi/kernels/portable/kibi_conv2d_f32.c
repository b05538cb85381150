/* CONV_2D, float, portable. Source of the rule: TFLM, reference/conv.h, Conv. */
#include "kibi_conv2d.h"

#include "kibi_dot_f32.h"
#include "kibi_window_columns.h"

static float sum_of(const float *const *rows, const float *w, int32_t first, const kibi_window_columns *c,
                    const kibi_conv2d_f32_params *p)
{
    const int32_t width = p->kernel_width * (p->input_channels / p->groups);
    float sum = 0.0f;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const float *x = rows[ky] + c->place + first;
            const float *from = w + ky * width + c->weight;
            for (int32_t k = 0; k < c->runs; ++k) {
                sum = kibi_dot_f32(sum, from, x, c->run);
                x += c->step;
                from += c->run;
            }
        }
    }
    return sum;
}

void kibi_conv2d_f32(float *output, const float *const *rows, const kibi_conv2d_f32_params *params, void *scratch)
{
    const kibi_conv2d_f32_params *const p = params;
    const int32_t depth = p->input_channels / p->groups;
    const int32_t size = p->kernel_rows * p->kernel_width * depth;
    const int32_t outputs = p->output_channels / p->groups;
    (void)scratch;
    KIBI_ASSERT(p->groups * depth == p->input_channels && p->groups * outputs == p->output_channels);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                            p->input_width, p->input_channels, depth);
        for (int32_t o = 0; o < p->output_channels; ++o) {
            const float sum = sum_of(rows, p->filter + o * size, o / outputs * depth, &found, p);
            *output++ = kibi_clamp_f32(sum + p->bias[o], p->activation_min, p->activation_max);
        }
    }
}
