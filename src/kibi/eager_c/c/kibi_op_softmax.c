/* SOFTMAX by hand. Of int8, the exponentials of all differences that count are a table, made first. */
#include "kernels/kibi_normalization.h"

#include "kernels/kibi_exponentials_s8.h"
#include "kibi_fixed_point.h"
#include "kibi_operators.h"

static void call_s8(void *output, const void *const *rows, const void *params)
{
    kibi_softmax_s8((int8_t *)output, (const int8_t *const *)(const void *)rows, (const kibi_softmax_s8_params *)params, NULL);
}

static void call_f32(void *output, const void *const *rows, const void *params)
{
    kibi_softmax_f32((float *)output, (const float *const *)(const void *)rows, (const kibi_softmax_f32_params *)params, NULL);
}

/* How many differences count, and the factor that brings them to 5 integer bits. 0: the scale is too small for fixed point. Source
 * of the rule: TFLM, kernels/internal/quantization_util.cc, PreprocessSoftmaxScaling and CalculateInputRadius. */
static int32_t differences_of(double scale, int32_t *multiplier, int32_t *shift)
{
    const double real = scale * 67108864.0;
    int32_t radius;
    if (!(real > 1.0)) {
        return 0;
    }
    if (real >= 1073741824.0) {
        *multiplier = 0; /* all but the difference of 0 are too far, */
        *shift = 0;      /* which needs no factor */
        return 1;
    }
    (void)kibi_multiplier_of(real, multiplier, shift);
    radius = (int32_t)(((int64_t)31 << 26) >> *shift);
    return (radius < 255 ? radius : 255) + 1;
}

static kibi_status softmax_s8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, float beta, uint32_t depth)
{
    const uint32_t bytes = kibi_row_bytes(output->type);
    int32_t multiplier = 0;
    int32_t shift = 0;
    const int32_t differences =
        differences_of((double)beta * (double)input->type->quantization->scale, &multiplier, &shift);
    kibi_work work;
    int32_t *table;
    if (differences == 0 || depth > 2048 || output->type->quantization->scale != 0.00390625f ||
        output->type->quantization->zero_point != -128) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    kibi_begin(&work, context, KIBI_ROOM(4 * (uint32_t)differences) + kibi_each_piece_bytes(output, bytes, input, bytes));
    table = (int32_t *)kibi_take(&work, 4 * (uint32_t)differences);
    for (int32_t k = 0; k < differences && work.status == KIBI_OK; ++k) {
        table[k] = kibi_exp_on_negative(kibi_multiply(-(int32_t)((uint32_t)k << shift), multiplier), 5);
    }
    {
        const kibi_softmax_s8_params params = {table, differences, (int32_t)(bytes / depth), (int32_t)depth};
        kibi_each_piece(&work, output, bytes, input, bytes, kibi_rows(output->type), call_s8, &params);
    }
    return kibi_end(&work);
}

kibi_status kibi_op_softmax(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, float beta)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const uint8_t dtype = input->type->dtype;
    const uint32_t bytes = kibi_row_bytes(output->type);
    uint32_t depth;
    kibi_work work;
    if ((dtype != KIBI_TYPE_S8 && dtype != KIBI_TYPE_F32) || !kibi_is(input, dtype) || !kibi_is(output, dtype) ||
        !kibi_same_shape(output, input) || input->type->rank == 0) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    depth = input->type->dimensions[input->type->rank - 1];
    if (dtype == KIBI_TYPE_S8) {
        return softmax_s8(context, output, input, beta, depth);
    }
    {
        const kibi_softmax_f32_params params = {beta, (int32_t)(bytes / sizeof(float) / depth), (int32_t)depth};
        kibi_begin(&work, context, kibi_each_piece_bytes(output, bytes, input, bytes));
        kibi_each_piece(&work, output, bytes, input, bytes, kibi_rows(output->type), call_f32, &params);
        return kibi_end(&work);
    }
}
