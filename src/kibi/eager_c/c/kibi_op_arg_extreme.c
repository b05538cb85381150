/* ARG_MAX and ARG_MIN by hand: for each place before the axis, all elements along it and after it. */
#include "kernels/kibi_reduction.h"

#include "kibi_operators.h"

static void call_s8(void *output, const void *const *rows, const void *params)
{
    kibi_arg_extreme_s8((int32_t *)output, (const int8_t *const *)(const void *)rows, (const kibi_arg_extreme_params *)params,
                        NULL);
}

static void call_f32(void *output, const void *const *rows, const void *params)
{
    kibi_arg_extreme_f32((int32_t *)output, (const float *const *)(const void *)rows, (const kibi_arg_extreme_params *)params,
                         NULL);
}

static kibi_status arg_extreme(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, unsigned axis, int32_t is_max)
{
    const kibi_tensor_type *const type = input->type;
    const int is_float = type->dtype == KIBI_TYPE_F32;
    uint32_t inner = 1;
    uint32_t bytes;
    kibi_work work;
    if ((!is_float && type->dtype != KIBI_TYPE_S8) || type->rank > 4 || axis >= type->rank ||
        output->type->dtype != KIBI_TYPE_S32 ||
        kibi_elements(output->type) * type->dimensions[axis] != kibi_elements(type)) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    for (unsigned k = axis + 1; k < type->rank; ++k) {
        inner *= type->dimensions[k];
    }
    bytes = type->dimensions[axis] * inner * kibi_element_bytes(type);
    {
        const kibi_arg_extreme_params params = {
            .outer = 1,
            .size = (int32_t)type->dimensions[axis],
            .inner = (int32_t)inner,
            .row_elements = (int32_t)(type->dimensions[axis] * inner),
            .is_max = is_max,
        };
        kibi_begin(&work, context, kibi_each_piece_bytes(output, 4 * inner, input, bytes));
        kibi_each_piece(&work, output, 4 * inner, input, bytes, kibi_elements(output->type) / inner,
                        is_float ? call_f32 : call_s8, &params);
    }
    return kibi_end(&work);
}

kibi_status kibi_op_arg_max(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, unsigned axis)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return arg_extreme(context, output, input, axis, 1);
}

kibi_status kibi_op_arg_min(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, unsigned axis)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return arg_extreme(context, output, input, axis, 0);
}
