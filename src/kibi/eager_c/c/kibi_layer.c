/* Layers of int8. */
#include "kibi_layer.h"

#include <string.h>

int kibi_is_layer(const kibi_tensor *output, const kibi_tensor *input, const kibi_tensor *filter, const kibi_tensor *bias,
                  uint32_t channels, unsigned axis)
{
    const kibi_tensor_type *const type = filter->type;
    const int is_float = input->type->dtype == KIBI_TYPE_F32;
    const uint8_t dtype = is_float ? KIBI_TYPE_F32 : KIBI_TYPE_S8;
    if (channels == 0 || output == filter || output == bias || !kibi_is(output, dtype) || !kibi_is(input, dtype) || type->dtype != dtype ||
        (bias != NULL && (bias->type->dtype != (is_float ? KIBI_TYPE_F32 : KIBI_TYPE_S32) ||
                          kibi_elements(bias->type) != channels))) {
        return 0;
    }
    if (is_float) {
        return 1;
    }
    if (type->quantization == NULL ||
        (type->is_per_channel && (type->quantized_axis != axis || type->dimensions[axis] != channels))) {
        return 0;
    }
    for (uint32_t k = 0; k < (type->is_per_channel ? channels : 1); ++k) {
        if (type->quantization[k].zero_point != 0) {
            return 0;
        }
    }
    return 1;
}

uint32_t kibi_constant_bytes(const kibi_tensor *tensor)
{
    return kibi_copy_bytes(tensor, kibi_bytes(tensor->type));
}

const void *kibi_constant(kibi_work *work, kibi_tensor *tensor)
{
    const uint32_t bytes = kibi_bytes(tensor->type);
    return kibi_fetch(work, tensor, 0, bytes, kibi_take(work, kibi_copy_bytes(tensor, bytes)));
}

void kibi_done_with(kibi_work *work, kibi_tensor *tensor, const void *data)
{
    kibi_done(work, tensor, kibi_bytes(tensor->type), data);
}

uint32_t kibi_layer_bytes(const kibi_tensor *filter, const kibi_tensor *bias, uint32_t channels)
{
    return 2 * KIBI_ROOM(4 * channels) + KIBI_ROOM(channels) + kibi_constant_bytes(filter) +
           (bias != NULL ? kibi_constant_bytes(bias) : 0);
}

void kibi_prepare(kibi_work *work, kibi_layer *layer, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                  kibi_tensor *bias, kibi_activation activation, uint32_t channels, uint32_t channel_step, uint32_t taps,
                  uint32_t tap_step)
{
    const kibi_channel *const from = input->type->quantization;
    const kibi_channel *const to = output->type->quantization;
    layer->bias = (int32_t *)kibi_take(work, 4 * channels);
    layer->multiplier = (int32_t *)kibi_take(work, 4 * channels);
    layer->shift = (int8_t *)kibi_take(work, channels);
    layer->output_zero_point = to->zero_point;
    if (!kibi_limits(output->type, activation, &layer->low, &layer->high)) {
        kibi_give_up(work, KIBI_ERROR_ARGUMENT);
    }
    if (bias != NULL && work->status == KIBI_OK) {
        const void *const data = kibi_constant(work, bias);
        if (work->status == KIBI_OK) {
            memcpy(layer->bias, data, 4 * channels);
        }
        kibi_done_with(work, bias, data);
    }
    layer->filter = (const int8_t *)kibi_constant(work, filter);
    for (uint32_t o = 0; o < channels && work->status == KIBI_OK; ++o) {
        const kibi_channel *const scale = filter->type->quantization + (filter->type->is_per_channel ? o : 0);
        const double factor = (double)from->scale * (double)scale->scale / (double)to->scale;
        const int8_t *const weights = layer->filter + o * channel_step;
        int32_t sum = 0; /* of fewer than 2**24 weights */
        int32_t shift;
        for (uint32_t k = 0; k < taps; ++k) {
            sum += weights[k * tap_step];
        }
        layer->bias[o] = (int32_t)((uint32_t)layer->bias[o] - (uint32_t)from->zero_point * (uint32_t)sum);
        if (!kibi_multiplier_of(factor, layer->multiplier + o, &shift)) {
            kibi_give_up(work, KIBI_ERROR_ARGUMENT);
        }
        layer->shift[o] = (int8_t)shift;
    }
}

const float *kibi_float_bias(kibi_work *work, kibi_tensor *bias, uint32_t channels)
{
    return (const float *)(bias != NULL ? kibi_constant(work, bias) : kibi_take(work, 4 * channels));
}
