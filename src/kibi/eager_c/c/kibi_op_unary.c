/* Functions of one element by hand. Those of int8 are tables of 256 answers, made first. */
#include "kernels/kibi_unary.h"

#include "kernels/kibi_inverse_square_root.h"
#include "kernels/kibi_requantize.h"
#include "kibi_fixed_point.h"
#include "kibi_operators.h"

#define UNARY(kernel, type, kind) \
    static void call_##kernel(void *output, const void *const *rows, const void *params) \
    { \
        kibi_##kernel((type *)output, (const type *const *)(const void *)rows, (const kind *)params, NULL); \
    }
UNARY(table_s8, int8_t, kibi_table_s8_params)
UNARY(relu_f32, float, kibi_elements_params)
UNARY(relu6_f32, float, kibi_elements_params)
UNARY(logistic_f32, float, kibi_elements_params)
UNARY(tanh_f32, float, kibi_elements_params)
UNARY(rsqrt_f32, float, kibi_elements_params)
UNARY(sin_f32, float, kibi_elements_params)

/* What an element of int8 becomes. */
typedef struct {
    int32_t zero_point; /* of the input */
    int32_t output_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t low;
    int32_t high;
    int32_t radius; /* of a sigmoid: inputs as far as this from the zero point are at the ends */
} element;
typedef int32_t (*element_function)(const element *e, int32_t value);

/* Makes the table, and looks all elements up. */
static kibi_status look_up(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const element *e,
                           element_function function)
{
    const uint32_t bytes = kibi_row_bytes(output->type);
    kibi_work work;
    int8_t *table;
    kibi_begin(&work, context, KIBI_ROOM(256) + kibi_each_piece_bytes(output, bytes, input, bytes));
    table = (int8_t *)kibi_take(&work, 256);
    for (int32_t k = 0; k < 256 && work.status == KIBI_OK; ++k) {
        table[k] = (int8_t)function(e, k - 128);
    }
    {
        const kibi_table_s8_params params = {table, (int32_t)bytes};
        kibi_each_piece(&work, output, bytes, input, bytes, kibi_rows(output->type), call_table_s8, &params);
    }
    return kibi_end(&work);
}

static kibi_status each_float(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_call call)
{
    const uint32_t bytes = kibi_row_bytes(output->type);
    const kibi_elements_params params = {(int32_t)(bytes / sizeof(float))};
    kibi_work work;
    kibi_begin(&work, context, kibi_each_piece_bytes(output, bytes, input, bytes));
    kibi_each_piece(&work, output, bytes, input, bytes, kibi_rows(output->type), call, &params);
    return kibi_end(&work);
}

/* Whether both tensors are int8, or both are float, in one shape. */
static int is_unary(const kibi_tensor *output, const kibi_tensor *input)
{
    const uint8_t dtype = input->type->dtype;
    return (dtype == KIBI_TYPE_S8 || dtype == KIBI_TYPE_F32) && kibi_is(input, dtype) && kibi_is(output, dtype) &&
           kibi_same_shape(output, input);
}

static int is_float(const kibi_tensor *tensor)
{
    return tensor->type->dtype == KIBI_TYPE_F32;
}

static kibi_status refuse(const kibi_context *context)
{
    return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
}

static int32_t rescaled(const element *e, int32_t value)
{
    const int32_t scaled = kibi_requantize(value - e->zero_point, e->multiplier, e->shift);
    return kibi_clamp(kibi_wrapping_add(scaled, e->output_zero_point), e->low, e->high);
}

/* From the input's scale to the output's. */
static kibi_status rescale(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, int32_t low)
{
    const kibi_channel *const from = input->type->quantization;
    const kibi_channel *const to = output->type->quantization;
    element e = {.zero_point = from->zero_point, .output_zero_point = to->zero_point, .low = low, .high = 127};
    if (!kibi_multiplier_of((double)from->scale / (double)to->scale, &e.multiplier, &e.shift)) {
        return refuse(context);
    }
    return look_up(context, output, input, &e, rescaled);
}

kibi_status kibi_op_relu(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    if (!is_unary(output, input)) {
        return refuse(context);
    }
    return is_float(input) ? each_float(context, output, input, call_relu_f32)
                           : rescale(context, output, input, output->type->quantization->zero_point);
}

static int32_t clamped(const element *e, int32_t value)
{
    return kibi_clamp(value, e->low, e->high);
}

kibi_status kibi_op_relu6(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    element e = {.low = 0};
    if (!is_unary(output, input)) {
        return refuse(context);
    }
    if (is_float(input)) {
        return each_float(context, output, input, call_relu6_f32);
    }
    return kibi_limits(input->type, KIBI_RELU6, &e.low, &e.high) ? look_up(context, output, input, &e, clamped)
                                                                 : refuse(context);
}

/* A sigmoid of an element in fixed point with 4 integer bits; false outside of the radius. */
static int is_inside(const element *e, int32_t value, int32_t *fixed)
{
    const int32_t centred = value - e->zero_point;
    *fixed = centred;
    if (centred <= -e->radius || centred >= e->radius) {
        return 0;
    }
    *fixed = kibi_requantize(centred, e->multiplier, e->shift);
    return 1;
}

static int32_t logistic_of(const element *e, int32_t value)
{
    int32_t fixed;
    if (!is_inside(e, value, &fixed)) {
        return fixed <= -e->radius ? -128 : 127;
    }
    return kibi_clamp(kibi_divide_by_power(kibi_logistic_fixed(fixed), 31 - 8) - 128, -128, 127);
}

static int32_t tanh_of(const element *e, int32_t value)
{
    int32_t fixed;
    if (!is_inside(e, value, &fixed)) {
        return fixed <= -e->radius ? -128 : 127;
    }
    return kibi_clamp(kibi_divide_by_power(kibi_tanh_fixed(fixed), 31 - 7), -128, 127);
}

static kibi_status sigmoid(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, element_function function)
{
    const int64_t most = (int64_t)15 << 27;
    const kibi_channel *const from = input->type->quantization;
    element e = {.zero_point = from->zero_point};
    if (!kibi_multiplier_of((double)from->scale * 134217728.0, &e.multiplier, &e.shift)) {
        return refuse(context);
    }
    /* Source of the rule: TFLM, quantization_util.cc, CalculateInputRadius. */
    e.radius = e.shift < 0 ? INT32_MAX : (int32_t)(most >> e.shift);
    return look_up(context, output, input, &e, function);
}

kibi_status kibi_op_logistic(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    if (!is_unary(output, input) || (!is_float(input) && output->type->quantization->zero_point != -128)) {
        return refuse(context);
    }
    return is_float(input) ? each_float(context, output, input, call_logistic_f32)
                           : sigmoid(context, output, input, logistic_of);
}

kibi_status kibi_op_tanh(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    if (!is_unary(output, input)) {
        return refuse(context);
    }
    return is_float(input) ? each_float(context, output, input, call_tanh_f32) : sigmoid(context, output, input, tanh_of);
}

kibi_status kibi_op_sin(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return is_unary(output, input) && is_float(input) ? each_float(context, output, input, call_sin_f32) : refuse(context);
}

/* The inverse root of a centred element, to 20 bits, then in the output's scale; the most for what is not positive. */
static int32_t rsqrt_of(const element *e, int32_t value)
{
    const int32_t centred = value - e->zero_point;
    const kibi_scaling root = kibi_inverse_square_root(centred);
    const int32_t fixed = kibi_requantize(1, root.multiplier, root.shift + 20);
    const int32_t scaled = kibi_requantize(fixed, e->multiplier, e->shift);
    return centred > 0 ? kibi_clamp(kibi_wrapping_add(scaled, e->output_zero_point), -128, 127) : 127;
}

kibi_status kibi_op_rsqrt(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_channel *const from = input->type->quantization;
    const kibi_channel *const to = output->type->quantization;
    element e = {.low = -128, .high = 127};
    if (!is_unary(output, input)) {
        return refuse(context);
    }
    if (is_float(input)) {
        return each_float(context, output, input, call_rsqrt_f32);
    }
    /* The factor is 2**20 times this one. Source of the rule: TFLM, micro/kernels/elementwise.cc, PrepareAbsRsqrt. */
    if (!kibi_multiplier_of(1.0 / (kibi_square_root_f64((double)from->scale) * (double)to->scale) / 1048576.0, &e.multiplier,
                            &e.shift) ||
        e.multiplier == 0) {
        return refuse(context);
    }
    e.zero_point = from->zero_point;
    e.output_zero_point = to->zero_point;
    return look_up(context, output, input, &e, rsqrt_of);
}
