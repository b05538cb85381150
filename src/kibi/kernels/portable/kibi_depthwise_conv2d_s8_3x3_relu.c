/* DEPTHWISE_CONV_2D, three by three with a ReLU, int8, portable. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_depthwise_conv2d_s8_3x3_row.h"

void kibi_depthwise_conv2d_s8_3x3_relu(int8_t *output, const int8_t *const *rows,
                                       const kibi_depthwise_conv2d_s8_3x3_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_3x3_params *const p = params;
    const kibi_depthwise_row row = {KIBI_AT(int32_t, p, blocks), p->input_width,  p->channels,
                                    p->input_zero_point,         p->output_width, p->output_zero_point,
                                    p->activation_min,           p->activation_max, p->stride,
                                    p->dilation,                 p->pad,         KIBI_DEPTHWISE_FRACTION_BITS};
    (void)scratch;
    kibi_depthwise_row_3x3(output, rows, &row);
}
