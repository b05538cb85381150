/* FULLY_CONNECTED by hand: a matrix product, vector after vector. */
#include "kernels/kibi_fully_connected.h"

#include "kibi_layer.h"

static void call_s8(void *output, const void *const *rows, const void *params)
{
    kibi_fully_connected_s8((int8_t *)output, (const int8_t *const *)(const void *)rows,
                            (const kibi_fully_connected_s8_params *)params, NULL);
}

static void call_f32(void *output, const void *const *rows, const void *params)
{
    kibi_fully_connected_f32((float *)output, (const float *const *)(const void *)rows,
                             (const kibi_fully_connected_f32_params *)params, NULL);
}

static kibi_status product_s8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                              kibi_tensor *bias, kibi_activation activation, uint32_t vectors)
{
    const uint32_t channels = filter->type->dimensions[0];
    const uint32_t depth = filter->type->dimensions[1];
    kibi_work work;
    kibi_layer layer;
    kibi_begin(&work, context,
               kibi_layer_bytes(filter, bias, channels) + kibi_each_piece_bytes(output, channels, input, depth));
    kibi_prepare(&work, &layer, output, input, filter, bias, activation, channels, depth, depth, 1);
    {
        const kibi_fully_connected_s8_params params = {
            .filter = layer.filter,
            .bias = layer.bias,
            .multiplier = layer.multiplier,
            .shift = layer.shift,
            .depth = (int32_t)depth,
            .piece = (int32_t)depth,
            .pieces = 1,
            .vectors = 1,
            .vectors_per_row = 1,
            .output_channels = (int32_t)channels,
            .output_zero_point = layer.output_zero_point,
            .activation_min = layer.low,
            .activation_max = layer.high,
        };
        kibi_each_piece(&work, output, channels, input, depth, vectors, call_s8, &params);
    }
    kibi_done_with(&work, filter, layer.filter);
    return kibi_end(&work);
}

static kibi_status product_f32(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                               kibi_tensor *bias, kibi_activation activation, uint32_t vectors)
{
    const uint32_t channels = filter->type->dimensions[0];
    const uint32_t depth = filter->type->dimensions[1];
    const uint32_t bias_bytes = bias != NULL ? kibi_constant_bytes(bias) : KIBI_ROOM(4 * channels);
    kibi_work work;
    kibi_fully_connected_f32_params params;
    kibi_begin(&work, context,
               kibi_constant_bytes(filter) + bias_bytes + kibi_each_piece_bytes(output, 4 * channels, input, 4 * depth));
    params.filter = (const float *)kibi_constant(&work, filter);
    params.bias = kibi_float_bias(&work, bias, channels);
    params.depth = (int32_t)depth;
    params.piece = (int32_t)depth;
    params.pieces = 1;
    params.vectors = 1;
    params.vectors_per_row = 1;
    params.output_channels = (int32_t)channels;
    kibi_limits_f32(activation, &params.activation_min, &params.activation_max);
    kibi_each_piece(&work, output, 4 * channels, input, 4 * depth, vectors, call_f32, &params);
    kibi_done_with(&work, filter, params.filter);
    if (bias != NULL) {
        kibi_done_with(&work, bias, params.bias);
    }
    return kibi_end(&work);
}

kibi_status kibi_op_fully_connected(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                                    kibi_tensor *bias, kibi_activation activation)
{
    const kibi_status flaw = kibi_operands(context, 3, 4, (kibi_tensor *const[]){output, input, filter, bias});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const uint32_t channels = filter->type->dimensions[0];
    const uint32_t depth = filter->type->dimensions[1];
    const uint32_t elements = kibi_elements(input->type);
    if (filter->type->rank != 2 || output == input || depth == 0 || elements % depth != 0 || activation > KIBI_RELU6 ||
        !kibi_is_layer(output, input, filter, bias, channels, 0) ||
        kibi_elements(output->type) != elements / depth * channels) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    return input->type->dtype == KIBI_TYPE_F32
               ? product_f32(context, output, input, filter, bias, activation, elements / depth)
               : product_s8(context, output, input, filter, bias, activation, elements / depth);
}
