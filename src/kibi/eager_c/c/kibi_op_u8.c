/* The earlier operators of asymmetric uint8, whose filters have a zero point, too. Source of the rules: TensorFlow Lite,
 * kernels/internal/reference; of ADD also TFLM, micro/kernels/add_common.cc. */
#include "kernels/kibi_requantize.h"
#include "kibi_layer.h"
#include "kibi_window.h"

static kibi_status refuse(const kibi_context *context)
{
    return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
}

/* How sums become outputs. */
typedef struct {
    const kibi_window *window; /* NULL: of a matrix product */
    const uint8_t *filter;
    const int32_t *bias; /* NULL: none */
    int32_t input_zero_point;
    int32_t filter_zero_point;
    int32_t output_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t low;
    int32_t high;
    int32_t depth;   /* input channels, or elements of a vector */
    int32_t outputs; /* output channels */
} layer;

static uint8_t scaled(const layer *l, int32_t sum, int32_t channel)
{
    const int32_t all = l->bias != NULL ? kibi_wrapping_add(sum, l->bias[channel]) : sum;
    const int32_t value = kibi_wrapping_add(kibi_requantize(all, l->multiplier, l->shift), l->output_zero_point);
    return (uint8_t)kibi_clamp(value, l->low, l->high);
}

/* Whether operands are a layer of uint8; how sums become outputs is known then. */
static int is_layer(layer *l, const kibi_tensor *output, const kibi_tensor *input, const kibi_tensor *filter,
                    const kibi_tensor *bias, kibi_activation activation, uint32_t outputs)
{
    const kibi_channel *const from = input->type->quantization;
    const kibi_channel *const to = output->type->quantization;
    const kibi_channel *const weights = filter->type->quantization;
    if (output == filter || output == bias || !kibi_is(output, KIBI_TYPE_U8) || !kibi_is(input, KIBI_TYPE_U8) || !kibi_is(filter, KIBI_TYPE_U8) ||
        (bias != NULL && (bias->type->dtype != KIBI_TYPE_S32 || kibi_elements(bias->type) != outputs)) ||
        !kibi_multiplier_of((double)from->scale * (double)weights->scale / (double)to->scale, &l->multiplier, &l->shift)) {
        return 0;
    }
    l->input_zero_point = from->zero_point;
    l->filter_zero_point = weights->zero_point;
    l->output_zero_point = to->zero_point;
    l->outputs = (int32_t)outputs;
    return kibi_limits(output->type, activation, &l->low, &l->high);
}

static uint32_t constants_bytes(const kibi_tensor *filter, const kibi_tensor *bias)
{
    return kibi_constant_bytes(filter) + (bias != NULL ? kibi_constant_bytes(bias) : 0);
}

static void hold(kibi_work *work, layer *l, kibi_tensor *filter, kibi_tensor *bias)
{
    l->filter = (const uint8_t *)kibi_constant(work, filter);
    l->bias = bias != NULL ? (const int32_t *)kibi_constant(work, bias) : NULL;
}

static kibi_status let_go(kibi_work *work, const layer *l, kibi_tensor *filter, kibi_tensor *bias)
{
    kibi_done_with(work, filter, l->filter);
    if (bias != NULL) {
        kibi_done_with(work, bias, l->bias);
    }
    return kibi_end(work);
}

static void call_depthwise(void *output, const void *const *rows, const void *params)
{
    const layer *const l = (const layer *)params;
    const kibi_along *const across = &l->window->columns;
    const int32_t each = l->outputs / l->depth;
    uint8_t *to = (uint8_t *)output;
    for (int32_t x = 0; x < across->output; ++x) {
        for (int32_t o = 0; o < l->outputs; ++o) {
            const uint8_t *weight = l->filter + o;
            int32_t sum = 0;
            for (int32_t ky = 0; ky < l->window->rows.kernel; ++ky) {
                for (int32_t kx = 0; kx < across->kernel; ++kx, weight += l->outputs) {
                    const int32_t column = x * across->stride - across->pad + kx * across->dilation;
                    if (rows[ky] != NULL && column >= 0 && column < across->input) {
                        const int32_t value = ((const uint8_t *)rows[ky])[column * l->depth + o / each];
                        sum += (value - l->input_zero_point) * (*weight - l->filter_zero_point);
                    }
                }
            }
            *to++ = scaled(l, sum, o);
        }
    }
}

kibi_status kibi_op_depthwise_conv2d_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                        kibi_tensor *filter, kibi_tensor *bias, const kibi_window_options *options)
{
    const kibi_status flaw = kibi_operands(context, 3, 4, (kibi_tensor *const[]){output, input, filter, bias});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const uint32_t *const shape = filter->type->dimensions;
    const uint32_t channels = input->type->dimensions[3];
    kibi_window window;
    layer l;
    kibi_work work;
    if (filter->type->rank != 4 || shape[0] != 1 || !kibi_window_of(&window, output, input, shape[1], shape[2], options) ||
        channels == 0 || shape[3] == 0 || shape[3] % channels != 0 || output->type->dimensions[3] != shape[3] ||
        (uint64_t)shape[1] * shape[2] > 32768 || !is_layer(&l, output, input, filter, bias, window.activation, shape[3])) {
        return refuse(context);
    }
    l.window = &window;
    l.depth = (int32_t)channels;
    kibi_begin(&work, context, constants_bytes(filter, bias) + kibi_slide_bytes(&window, output, input));
    hold(&work, &l, filter, bias);
    kibi_slide(&work, &window, output, input, NULL, call_depthwise, &l);
    return let_go(&work, &l, filter, bias);
}

static void call_product(void *output, const void *const *rows, const void *params)
{
    const layer *const l = (const layer *)params;
    const uint8_t *const input = (const uint8_t *)rows[0];
    const uint8_t *weight = l->filter;
    for (int32_t o = 0; o < l->outputs; ++o) {
        int32_t sum = 0;
        for (int32_t k = 0; k < l->depth; ++k) {
            sum += (input[k] - l->input_zero_point) * (*weight++ - l->filter_zero_point);
        }
        ((uint8_t *)output)[o] = scaled(l, sum, o);
    }
}

kibi_status kibi_op_fully_connected_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                       kibi_tensor *filter, kibi_tensor *bias, kibi_activation activation)
{
    const kibi_status flaw = kibi_operands(context, 3, 4, (kibi_tensor *const[]){output, input, filter, bias});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const uint32_t outputs = filter->type->dimensions[0];
    const uint32_t depth = filter->type->dimensions[1];
    const uint32_t elements = kibi_elements(input->type);
    layer l;
    kibi_work work;
    if (filter->type->rank != 2 || output == input || depth == 0 || depth > 32768 || outputs == 0 || elements % depth != 0 ||
        kibi_elements(output->type) != elements / depth * outputs ||
        !is_layer(&l, output, input, filter, bias, activation, outputs)) {
        return refuse(context);
    }
    l.window = NULL;
    l.depth = (int32_t)depth;
    kibi_begin(&work, context, constants_bytes(filter, bias) + kibi_each_piece_bytes(output, outputs, input, depth));
    hold(&work, &l, filter, bias);
    kibi_each_piece(&work, output, outputs, input, depth, elements / depth, call_product, &l);
    return let_go(&work, &l, filter, bias);
}

/* What a pool, a sum and a quantization need. */
typedef struct {
    const kibi_window *window;
    int32_t channels;
    uint32_t elements;
    int32_t zero_points[3]; /* of both inputs and the output */
    int32_t multipliers[3];
    int32_t shifts[3];
    float scale;
    int32_t low;
    int32_t high;
} task;

static void call_max_pool(void *output, const void *const *rows, const void *params)
{
    const task *const t = (const task *)params;
    const kibi_along *const across = &t->window->columns;
    uint8_t *to = (uint8_t *)output;
    for (int32_t x = 0; x < across->output; ++x) {
        for (int32_t channel = 0; channel < t->channels; ++channel) {
            int32_t most = 0;
            for (int32_t ky = 0; ky < t->window->rows.kernel; ++ky) {
                for (int32_t kx = 0; kx < across->kernel; ++kx) {
                    const int32_t column = x * across->stride - across->pad + kx;
                    if (rows[ky] != NULL && column >= 0 && column < across->input) {
                        const int32_t value = ((const uint8_t *)rows[ky])[column * t->channels + channel];
                        most = value > most ? value : most;
                    }
                }
            }
            *to++ = (uint8_t)kibi_clamp(most, t->low, t->high);
        }
    }
}

kibi_status kibi_op_max_pool2d_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                  const kibi_pool_options *options)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    kibi_window window;
    task t;
    kibi_work work;
    if (options == NULL || !kibi_is(input, KIBI_TYPE_U8) || !kibi_is(output, KIBI_TYPE_U8) ||
        !kibi_window_of(&window, output, input, options->height, options->width, &options->window) ||
        window.rows.dilation != 1 || window.columns.dilation != 1 ||
        output->type->dimensions[3] != input->type->dimensions[3] ||
        input->type->quantization->scale != output->type->quantization->scale ||
        input->type->quantization->zero_point != output->type->quantization->zero_point ||
        !kibi_limits(output->type, window.activation, &t.low, &t.high)) {
        return refuse(context);
    }
    t.window = &window;
    t.channels = (int32_t)input->type->dimensions[3];
    kibi_begin(&work, context, kibi_slide_bytes(&window, output, input));
    kibi_slide(&work, &window, output, input, NULL, call_max_pool, &t);
    return kibi_end(&work);
}

kibi_status kibi_op_add_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                           kibi_activation activation)
{
    const kibi_status flaw = kibi_operands(context, 3, 3, (kibi_tensor *const[]){output, input1, input2});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    kibi_tensor *const tensors[3] = {input1, input2, output};
    const uint32_t bytes = kibi_row_bytes(output->type);
    double factors[3];
    double twice;
    void *copies[3];
    task t;
    kibi_work work;
    for (unsigned k = 0; k < 3; ++k) {
        if (!kibi_is(tensors[k], KIBI_TYPE_U8) || !kibi_same_shape(tensors[k], output)) {
            return refuse(context);
        }
        factors[k] = (double)tensors[k]->type->quantization->scale;
        t.zero_points[k] = tensors[k]->type->quantization->zero_point;
    }
    twice = 2.0 * (factors[0] > factors[1] ? factors[0] : factors[1]);
    factors[0] /= twice;
    factors[1] /= twice;
    factors[2] = twice / (1048576.0 * factors[2]);
    for (unsigned k = 0; k < 3; ++k) {
        if (!kibi_multiplier_of(factors[k], &t.multipliers[k], &t.shifts[k]) || t.shifts[k] > 0) {
            return refuse(context);
        }
    }
    if (!kibi_limits(output->type, activation, &t.low, &t.high)) {
        return refuse(context);
    }
    kibi_begin(&work, context,
               kibi_copy_bytes(input1, bytes) + kibi_copy_bytes(input2, bytes) + kibi_copy_bytes(output, bytes));
    for (unsigned k = 0; k < 3; ++k) {
        copies[k] = kibi_take(&work, kibi_copy_bytes(tensors[k], bytes));
    }
    for (uint32_t row = 0; row < kibi_rows(output->type) && work.status == KIBI_OK; ++row) {
        const uint8_t *const a = (const uint8_t *)kibi_fetch(&work, input1, row * bytes, bytes, copies[0]);
        const uint8_t *const b = (const uint8_t *)kibi_fetch(&work, input2, row * bytes, bytes, copies[1]);
        uint8_t *const to = (uint8_t *)kibi_target(&work, output, row * bytes, bytes, copies[2]);
        for (uint32_t k = 0; k < bytes && work.status == KIBI_OK; ++k) {
            const int32_t first = kibi_requantize((a[k] - t.zero_points[0]) * 1048576, t.multipliers[0], t.shifts[0]);
            const int32_t second = kibi_requantize((b[k] - t.zero_points[1]) * 1048576, t.multipliers[1], t.shifts[1]);
            const int32_t sum = kibi_requantize(first + second, t.multipliers[2], t.shifts[2]);
            to[k] = (uint8_t)kibi_clamp(kibi_wrapping_add(sum, t.zero_points[2]), t.low, t.high);
        }
        kibi_put(&work, output, row * bytes, bytes, to);
        kibi_done(&work, input1, bytes, a);
        kibi_done(&work, input2, bytes, b);
    }
    return kibi_end(&work);
}

static void call_quantize(void *output, const void *const *rows, const void *params)
{
    const task *const t = (const task *)params;
    const float *const input = (const float *)rows[0];
    for (uint32_t k = 0; k < t->elements; ++k) {
        const float quotient = input[k] / t->scale;
        int32_t whole = 0; /* of a NaN */
        if (quotient >= 1024.0f || quotient <= -1024.0f) {
            whole = quotient > 0.0f ? 1024 : -1024;
        } else if (quotient == quotient) {
            whole = (int32_t)quotient;
            whole += (quotient - (float)whole >= 0.5f) - (quotient - (float)whole <= -0.5f);
        }
        ((uint8_t *)output)[k] = (uint8_t)kibi_clamp(whole + t->zero_points[2], 0, 255);
    }
}

kibi_status kibi_op_quantize_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const uint32_t bytes = kibi_row_bytes(output->type);
    task t;
    kibi_work work;
    if (!kibi_is(output, KIBI_TYPE_U8) || !kibi_is(input, KIBI_TYPE_F32) || !kibi_same_shape(output, input)) {
        return refuse(context);
    }
    t.elements = bytes;
    t.scale = output->type->quantization->scale;
    t.zero_points[2] = output->type->quantization->zero_point;
    kibi_begin(&work, context, kibi_each_piece_bytes(output, bytes, input, 4 * bytes));
    kibi_each_piece(&work, output, bytes, input, 4 * bytes, kibi_rows(output->type), call_quantize, &t);
    return kibi_end(&work);
}

/* Places along an axis, of all elements after it. */
static void call_arg_max(void *output, const void *const *rows, const void *params)
{
    const task *const t = (const task *)params;
    const uint8_t *const input = (const uint8_t *)rows[0];
    for (uint32_t k = 0; k < t->elements; ++k) {
        int32_t best = 0;
        for (int32_t place = 1; place < t->channels; ++place) {
            if (input[(uint32_t)place * t->elements + k] > input[(uint32_t)best * t->elements + k]) {
                best = place;
            }
        }
        ((int32_t *)output)[k] = best;
    }
}

kibi_status kibi_op_arg_max_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, unsigned axis)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    const kibi_tensor_type *const type = input->type;
    task t;
    kibi_work work;
    uint32_t bytes;
    if (type->dtype != KIBI_TYPE_U8 || type->rank > 4 || axis >= type->rank || output->type->dtype != KIBI_TYPE_S32 ||
        kibi_elements(type) == 0 || kibi_elements(output->type) * type->dimensions[axis] != kibi_elements(type)) {
        return refuse(context);
    }
    t.elements = 1;
    for (unsigned k = axis + 1; k < type->rank; ++k) {
        t.elements *= type->dimensions[k];
    }
    t.channels = (int32_t)type->dimensions[axis];
    bytes = type->dimensions[axis] * t.elements;
    kibi_begin(&work, context, kibi_each_piece_bytes(output, 4 * t.elements, input, bytes));
    kibi_each_piece(&work, output, 4 * t.elements, input, bytes, kibi_elements(output->type) / t.elements, call_arg_max, &t);
    return kibi_end(&work);
}
