/* QUANTIZE and DEQUANTIZE by hand. */
#include "kernels/kibi_quantize.h"

#include "kernels/kibi_requantize.h"
#include "kibi_operators.h"

static void call_quantize_f32_s8(void *output, const void *const *rows, const void *params)
{
    kibi_quantize_f32_s8((int8_t *)output, (const float *const *)(const void *)rows, (const kibi_quantize_f32_params *)params,
                         NULL);
}

static void call_dequantize_s8(void *output, const void *const *rows, const void *params)
{
    kibi_dequantize_s8_f32((float *)output, (const int8_t *const *)(const void *)rows, (const kibi_quantize_f32_params *)params,
                           NULL);
}

static void call_dequantize_u8(void *output, const void *const *rows, const void *params)
{
    kibi_dequantize_u8_f32((float *)output, (const uint8_t *const *)(const void *)rows,
                           (const kibi_quantize_f32_params *)params, NULL);
}

static void call_dequantize_s16(void *output, const void *const *rows, const void *params)
{
    kibi_dequantize_s16_f32((float *)output, (const int16_t *const *)(const void *)rows,
                            (const kibi_quantize_f32_params *)params, NULL);
}

/* From one scale of int8 to another. */
static void call_requantize_s8(void *output, const void *const *rows, const void *params)
{
    const kibi_requantize_params *const p = (const kibi_requantize_params *)params;
    const int8_t *const input = (const int8_t *)rows[0];
    for (int32_t k = 0; k < p->elements; ++k) {
        const int32_t scaled = kibi_requantize(input[k] - p->zero_point, p->multiplier, p->shift);
        ((int8_t *)output)[k] = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), -128, 127);
    }
}

static kibi_status each_row(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_call call,
                            const void *params)
{
    const uint32_t to = kibi_row_bytes(output->type);
    const uint32_t from = kibi_row_bytes(input->type);
    kibi_work work;
    kibi_begin(&work, context, kibi_each_piece_bytes(output, to, input, from));
    kibi_each_piece(&work, output, to, input, from, kibi_rows(output->type), call, params);
    return kibi_end(&work);
}

static int32_t row_elements(const kibi_tensor *tensor)
{
    return (int32_t)(kibi_row_bytes(tensor->type) / kibi_element_bytes(tensor->type));
}

kibi_status kibi_op_quantize(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_channel *const to = output->type->quantization;
    const kibi_channel *const from = input->type->quantization;
    if (!kibi_is(output, KIBI_TYPE_S8) || !kibi_same_shape(output, input) ||
        !(kibi_is(input, KIBI_TYPE_F32) || kibi_is(input, KIBI_TYPE_S8))) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    if (input->type->dtype == KIBI_TYPE_F32) {
        const kibi_quantize_f32_params params = {row_elements(output), to->scale, to->zero_point};
        return output == input ? kibi_fail(context->handler, KIBI_ERROR_ARGUMENT)
                               : each_row(context, output, input, call_quantize_f32_s8, &params);
    }
    {
        kibi_requantize_params params = {
            .elements = row_elements(output), .zero_point = from->zero_point, .output_zero_point = to->zero_point};
        if (!kibi_multiplier_of((double)from->scale / (double)to->scale, &params.multiplier, &params.shift)) {
            return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
        }
        return each_row(context, output, input, call_requantize_s8, &params);
    }
}

kibi_status kibi_op_dequantize(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_tensor_type *const type = input->type;
    kibi_call call = NULL;
    if (type->dtype == KIBI_TYPE_S8) {
        call = call_dequantize_s8;
    } else if (type->dtype == KIBI_TYPE_U8) {
        call = call_dequantize_u8;
    } else if (type->dtype == KIBI_TYPE_S16) {
        call = call_dequantize_s16;
    }
    if (call == NULL || type->quantization == NULL || type->is_per_channel || !(type->quantization->scale > 0.0f) ||
        type->quantization->zero_point < -32768 || type->quantization->zero_point > 32767 || !kibi_is(output, KIBI_TYPE_F32) ||
        !kibi_same_shape(output, input)) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    {
        const kibi_quantize_f32_params params = {row_elements(output), type->quantization->scale,
                                                 type->quantization->zero_point};
        return each_row(context, output, input, call, &params);
    }
}
