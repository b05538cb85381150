/* DEPTHWISE_CONV_2D, int16, portable. Source of the rule: TFLM, integer_ops/depthwise_conv.h, DepthwiseConvPerChannel. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_requantize_s16.h"
#include "kibi_window_columns.h"

/* A sum, plus the products of channel `c` and output channel `o` over the columns of a window. */
static int64_t sum_of(int64_t sum, const int16_t *const *rows, int32_t c, int32_t o, const kibi_window_columns *columns,
                      const kibi_depthwise_conv2d_s16_params *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            int32_t place = columns->place + c;
            int32_t weight = (ky * p->kernel_width + columns->weight) * outputs + o;
            for (int32_t k = 0; k < columns->runs; ++k) {
                sum += (int32_t)KIBI_AT(int8_t, p, filter)[weight] * rows[ky][place];
                place += columns->step;
                weight += outputs;
            }
        }
    }
    return sum;
}

void kibi_depthwise_conv2d_s16(int16_t *output, const int16_t *const *rows,
                               const kibi_depthwise_conv2d_s16_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s16_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                      p->input_width, p->input_channels, 1);
        int32_t o = 0;
        found.runs *= found.run; /* columns, also where those of a single channel are neighbours */
        for (int32_t c = 0; c < p->input_channels; ++c) {
            for (int32_t m = 0; m < p->depth_multiplier; ++m) {
                const int64_t sum = sum_of(KIBI_AT(int64_t, p, bias)[o], rows, c, o, &found, p);
                *output++ = kibi_requantize_s16(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o],
                                                p->is_wide, 0, p->activation_min, p->activation_max);
                ++o;
            }
        }
    }
}
