/* CONV_2D, int16, portable. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d.h"

#include "kibi_requantize_s16.h"
#include "kibi_window_columns.h"

static int64_t sum_of(int64_t sum, const int16_t *const *rows, const int8_t *w, int32_t first,
                      const kibi_window_columns *c, const kibi_conv2d_s16_params *p)
{
    const int32_t width = p->kernel_width * (p->input_channels / p->groups);
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const int16_t *x = rows[ky] + c->place + first;
            const int8_t *from = w + ky * width + c->weight;
            for (int32_t k = 0; k < c->runs; ++k) {
                sum = kibi_dot_s16(sum, from, x, c->run);
                x += c->step;
                from += c->run;
            }
        }
    }
    return sum;
}

void kibi_conv2d_s16(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_params *params, void *scratch)
{
    const kibi_conv2d_s16_params *const p = params;
    const int32_t depth = p->input_channels / p->groups;
    const int32_t size = p->kernel_rows * p->kernel_width * depth;
    const int32_t outputs = p->output_channels / p->groups;
    (void)scratch;
    KIBI_ASSERT(p->groups * depth == p->input_channels && p->groups * outputs == p->output_channels);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                            p->input_width, p->input_channels, depth);
        for (int32_t o = 0; o < p->output_channels; ++o) {
            const int64_t sum = sum_of(p->bias[o], rows, p->filter + o * size, o / outputs * depth, &found, p);
            *output++ = kibi_requantize_s16(sum, p->multiplier[o], p->shift[o], p->is_wide, 0, p->activation_min,
                                            p->activation_max);
        }
    }
}
