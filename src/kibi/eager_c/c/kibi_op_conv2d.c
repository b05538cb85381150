/* CONV_2D by hand. */
#include "kernels/kibi_conv2d.h"

#include <string.h>

#include "kibi_layer.h"
#include "kibi_window.h"

static void call_s8(void *output, const void *const *rows, const void *params)
{
    kibi_conv2d_s8((int8_t *)output, (const int8_t *const *)(const void *)rows, (const kibi_conv2d_s8_params *)params, NULL);
}

static void call_f32(void *output, const void *const *rows, const void *params)
{
    kibi_conv2d_f32((float *)output, (const float *const *)(const void *)rows, (const kibi_conv2d_f32_params *)params, NULL);
}

/* What all convolutions have: bytes of the filter's window, and of a row outside of the input. */
static uint32_t outside_bytes(const kibi_window *window, uint32_t channels)
{
    const uint32_t columns = (uint32_t)kibi_columns_outside(window) * channels;
    return columns > window->input_bytes ? columns : window->input_bytes;
}

static kibi_status conv2d_s8(const kibi_context *context, const kibi_window *window, kibi_tensor *output, kibi_tensor *input,
                             kibi_tensor *filter, kibi_tensor *bias)
{
    const uint32_t *const shape = filter->type->dimensions;
    const uint32_t taps = shape[1] * shape[2] * shape[3];
    const uint32_t channels = input->type->dimensions[3];
    const uint32_t outside = outside_bytes(window, channels);
    kibi_work work;
    kibi_layer layer;
    kibi_begin(&work, context,
               kibi_layer_bytes(filter, bias, shape[0]) + KIBI_ROOM(outside) + kibi_slide_bytes(window, output, input));
    kibi_prepare(&work, &layer, output, input, filter, bias, window->activation, shape[0], taps, taps, 1);
    {
        int8_t *const padding = (int8_t *)kibi_take(&work, outside);
        const kibi_conv2d_s8_params params = {
            .filter = layer.filter,
            .bias = layer.bias,
            .multiplier = layer.multiplier,
            .shift = layer.shift,
            .padding = padding,
            .input_width = window->columns.input,
            .input_channels = (int32_t)channels,
            .output_width = window->columns.output,
            .output_channels = (int32_t)shape[0],
            .output_zero_point = layer.output_zero_point,
            .activation_min = layer.low,
            .activation_max = layer.high,
            .groups = (int32_t)(channels / shape[3]),
            .uses_im2col = 0,
            .kernel_rows = window->rows.kernel,
            .kernel_width = window->columns.kernel,
            .stride = window->columns.stride,
            .dilation = window->columns.dilation,
            .pad = window->columns.pad,
        };
        if (work.status == KIBI_OK) {
            memset(padding, input->type->quantization->zero_point, outside);
        }
        kibi_slide(&work, window, output, input, padding, call_s8, &params);
    }
    kibi_done_with(&work, filter, layer.filter);
    return kibi_end(&work);
}

static kibi_status conv2d_f32(const kibi_context *context, const kibi_window *window, kibi_tensor *output, kibi_tensor *input,
                              kibi_tensor *filter, kibi_tensor *bias)
{
    const uint32_t *const shape = filter->type->dimensions;
    const uint32_t bias_bytes = bias != NULL ? kibi_constant_bytes(bias) : KIBI_ROOM(4 * shape[0]);
    kibi_work work;
    kibi_conv2d_f32_params params;
    kibi_begin(&work, context, kibi_constant_bytes(filter) + bias_bytes + kibi_slide_bytes(window, output, input));
    params.filter = (const float *)kibi_constant(&work, filter);
    params.bias = kibi_float_bias(&work, bias, shape[0]);
    params.input_width = window->columns.input;
    params.input_channels = (int32_t)input->type->dimensions[3];
    params.output_width = window->columns.output;
    params.output_channels = (int32_t)shape[0];
    params.groups = (int32_t)(input->type->dimensions[3] / shape[3]);
    params.kernel_rows = window->rows.kernel;
    params.kernel_width = window->columns.kernel;
    params.stride = window->columns.stride;
    params.dilation = window->columns.dilation;
    params.pad = window->columns.pad;
    kibi_limits_f32(window->activation, &params.activation_min, &params.activation_max);
    kibi_slide(&work, window, output, input, NULL, call_f32, &params);
    kibi_done_with(&work, filter, params.filter);
    if (bias != NULL) {
        kibi_done_with(&work, bias, params.bias);
    }
    return kibi_end(&work);
}

kibi_status kibi_op_conv2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                           kibi_tensor *bias, const kibi_window_options *options)
{
    const kibi_status flaw = kibi_operands(context, 3, 4, (kibi_tensor *const[]){output, input, filter, bias});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const uint32_t *const shape = filter->type->dimensions;
    const uint32_t channels = input->type->dimensions[3];
    kibi_window window;
    if (filter->type->rank != 4 || !kibi_window_of(&window, output, input, shape[1], shape[2], options) || shape[3] == 0 ||
        channels % shape[3] != 0 || output->type->dimensions[3] != shape[0] || shape[0] % (channels / shape[3]) != 0 ||
        !kibi_is_layer(output, input, filter, bias, shape[0], 0)) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    return input->type->dtype == KIBI_TYPE_F32 ? conv2d_f32(context, &window, output, input, filter, bias)
                                               : conv2d_s8(context, &window, output, input, filter, bias);
}
