/* Pools by hand: the largest, the smallest and the mean of windows, and functions of the application's. */
#include "kernels/kibi_pool2d.h"

#include <string.h>

#include "kibi_window.h"

#define POOL(kernel, type, kind) \
    static void call_##kernel(void *output, const void *const *rows, const void *params) \
    { \
        kibi_##kernel((type *)output, (const type *const *)(const void *)rows, (const kind *)params, NULL); \
    }
POOL(max_pool2d_s8, int8_t, kibi_pool_params)
POOL(max_pool2d_f32, float, kibi_pool_f32_params)
POOL(average_pool2d_s8, int8_t, kibi_pool_params)
POOL(average_pool2d_f32, float, kibi_pool_f32_params)

/* The window of a pool; 0 where operands do not fit. */
static int is_pool(kibi_window *window, const kibi_tensor *output, const kibi_tensor *input, const kibi_pool_options *options)
{
    return options != NULL &&
           kibi_window_of(window, output, input, options->height, options->width, &options->window) &&
           window->rows.dilation == 1 && window->columns.dilation == 1 &&
           (uint32_t)(window->rows.kernel * window->columns.kernel) <= 65535u &&
           output->type->dimensions[3] == input->type->dimensions[3] && output->type->dtype == input->type->dtype;
}

/* Whether both are int8 in one scale, or float; the range that outputs are clamped to is then known. Source of the rule on scales:
 * TFLM, micro/kernels/pooling_common.cc. */
static int has_numbers(const kibi_window *window, const kibi_tensor *output, const kibi_tensor *input, int32_t *low,
                       int32_t *high)
{
    const kibi_channel *const from = input->type->quantization;
    const kibi_channel *const to = output->type->quantization;
    if (input->type->dtype == KIBI_TYPE_F32) {
        return 1;
    }
    if (!kibi_is(input, KIBI_TYPE_S8) || !kibi_is(output, KIBI_TYPE_S8) || from->zero_point != to->zero_point) {
        return 0;
    }
    return from->scale - to->scale <= 1e-6f && to->scale - from->scale <= 1e-6f &&
           kibi_limits(output->type, window->activation, low, high);
}

static kibi_status pool(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const kibi_pool_options *options,
                        kibi_call call_s8, kibi_call call_f32)
{
    kibi_window window;
    kibi_pool_params integers;
    kibi_pool_f32_params floats;
    kibi_work work;
    if (!is_pool(&window, output, input, options) ||
        !has_numbers(&window, output, input, &integers.activation_min, &integers.activation_max) ||
        (uint32_t)options->height * options->width > 65535u) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    integers.input_width = window.columns.input;
    integers.channels = (int32_t)input->type->dimensions[3];
    integers.output_width = window.columns.output;
    integers.kernel_rows = window.rows.kernel;
    integers.kernel_width = window.columns.kernel;
    integers.stride = window.columns.stride;
    integers.pad = window.columns.pad;
    memcpy(&floats, &integers, offsetof(kibi_pool_f32_params, activation_min)); /* they begin alike */
    kibi_limits_f32(window.activation, &floats.activation_min, &floats.activation_max);
    kibi_begin(&work, context, kibi_slide_bytes(&window, output, input));
    if (input->type->dtype == KIBI_TYPE_F32) {
        kibi_slide(&work, &window, output, input, NULL, call_f32, &floats);
    } else {
        kibi_slide(&work, &window, output, input, NULL, call_s8, &integers);
    }
    return kibi_end(&work);
}

kibi_status kibi_op_max_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                               const kibi_pool_options *options)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return pool(context, output, input, options, call_max_pool2d_s8, call_max_pool2d_f32);
}

kibi_status kibi_op_average_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                   const kibi_pool_options *options)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    return pool(context, output, input, options, call_average_pool2d_s8, call_average_pool2d_f32);
}

/* A pool that is a function of the elements under a window. */
typedef struct {
    const kibi_window *window;
    uint32_t channels;
    uint32_t element_bytes;
    uint8_t *elements; /* of one channel under a window */
    void (*pool)(void *state, const void *elements, uint32_t count, void *result);
    void *state;
} task;

static void call_function(void *output, const void *const *rows, const void *params)
{
    const task *const t = (const task *)params;
    const kibi_along *const across = &t->window->columns;
    uint8_t *to = (uint8_t *)output;
    for (int32_t x = 0; x < across->output; ++x) {
        for (uint32_t channel = 0; channel < t->channels; ++channel) {
            uint32_t count = 0;
            for (int32_t ky = 0; ky < t->window->rows.kernel; ++ky) {
                for (int32_t kx = 0; kx < across->kernel; ++kx) {
                    const int32_t column = x * across->stride - across->pad + kx;
                    if (rows[ky] != NULL && column >= 0 && column < across->input) {
                        const uint32_t at = ((uint32_t)column * t->channels + channel) * t->element_bytes;
                        memcpy(t->elements + count++ * t->element_bytes, (const uint8_t *)rows[ky] + at, t->element_bytes);
                    }
                }
            }
            t->pool(t->state, t->elements, count, to);
            to += t->element_bytes;
        }
    }
}

static kibi_status apply(const kibi_context *context, const kibi_window *window, kibi_tensor *output, kibi_tensor *input,
                         void (*function)(void *state, const void *elements, uint32_t count, void *result), void *state)
{
    const uint32_t element_bytes = kibi_element_bytes(input->type);
    const uint32_t under = (uint32_t)(window->rows.kernel * window->columns.kernel) * element_bytes;
    kibi_work work;
    task t;
    kibi_begin(&work, context, KIBI_ROOM(under) + kibi_slide_bytes(window, output, input));
    t.window = window;
    t.channels = input->type->dimensions[3];
    t.element_bytes = element_bytes;
    t.elements = (uint8_t *)kibi_take(&work, under);
    t.pool = function;
    t.state = state;
    kibi_slide(&work, window, output, input, NULL, call_function, &t);
    return kibi_end(&work);
}

kibi_status kibi_op_generic_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                   const kibi_pool_options *options,
                                   void (*function)(void *state, const void *elements, uint32_t count, void *result),
                                   void *state)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    kibi_window window;
    if (function == NULL || !is_pool(&window, output, input, options)) {
        return kibi_fail(context->handler, function == NULL ? KIBI_ERROR_NULL : KIBI_ERROR_ARGUMENT);
    }
    return apply(context, &window, output, input, function, state);
}

/* The range that outputs are clamped to. */
typedef struct {
    int32_t low;
    int32_t high;
    float low_f32;
    float high_f32;
} range;

static void least_s8(void *state, const void *elements, uint32_t count, void *result)
{
    const range *const limits = (const range *)state;
    const int8_t *const values = (const int8_t *)elements;
    int32_t least = 127;
    for (uint32_t k = 0; k < count; ++k) {
        least = values[k] < least ? values[k] : least;
    }
    least = least < limits->low ? limits->low : least;
    *(int8_t *)result = (int8_t)(least > limits->high ? limits->high : least);
}

static void least_f32(void *state, const void *elements, uint32_t count, void *result)
{
    const range *const limits = (const range *)state;
    const float *const values = (const float *)elements;
    float least = 3.4028234663852886e+38f;
    for (uint32_t k = 0; k < count; ++k) {
        least = values[k] < least ? values[k] : least;
    }
    least = least < limits->low_f32 ? limits->low_f32 : least;
    *(float *)result = least > limits->high_f32 ? limits->high_f32 : least;
}

kibi_status kibi_op_min_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                               const kibi_pool_options *options)
{
    const kibi_status flaw = kibi_operands(context, 2, 2, (kibi_tensor *const[]){output, input});
    if (flaw != KIBI_OK) {
        return flaw;
    }
    kibi_window window;
    range limits;
    if (!is_pool(&window, output, input, options) || !has_numbers(&window, output, input, &limits.low, &limits.high)) {
        return kibi_fail(context->handler, KIBI_ERROR_ARGUMENT);
    }
    kibi_limits_f32(window.activation, &limits.low_f32, &limits.high_f32);
    return apply(context, &window, output, input, input->type->dtype == KIBI_TYPE_F32 ? least_f32 : least_s8, &limits);
}
