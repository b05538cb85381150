/* DEPTHWISE_CONV_2D, three by three with a ReLU, int8, Armv7E-M. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_depthwise_conv2d_s8_3x3_row.h"
#include "kibi_round_once.h"

static KIBI_NOINLINE KIBI_NAKED void compute(KIBI_IN_REGISTER kibi_depthwise_pixels *at)
{
    KIBI_DEPTHWISE_3X3(KIBI_REQUANTIZE_BLOCK_ONCE);
}

void kibi_depthwise_conv2d_s8_3x3_relu(int8_t *output, const int8_t *const *rows,
                                       const kibi_depthwise_conv2d_s8_3x3_params *params, void *scratch)
{
    const uint32_t zero_point = (uint32_t)params->output_zero_point << KIBI_DEPTHWISE_FRACTION_BITS;
    (void)scratch;
    kibi_depthwise_row_3x3(output, rows, params, KIBI_AT(int32_t, params, blocks), zero_point, compute);
}
