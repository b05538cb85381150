/* Windows over the rows of an image. */
#include "kibi_window.h"

/* A window along one axis; 0 where the output has another size than it makes. Source of the rule: TFLM, kernels/padding.h. */
static int is_along(kibi_along *along, uint32_t input, uint32_t output, uint32_t kernel, uint32_t stride, uint32_t dilation,
                    kibi_padding padding)
{
    enum { MOST = 1 << 15 };
    int32_t reach;
    int32_t missing;
    along->input = (int32_t)input;
    along->output = (int32_t)output;
    along->kernel = (int32_t)kernel;
    along->stride = stride != 0 ? (int32_t)stride : 1;
    along->dilation = dilation != 0 ? (int32_t)dilation : 1;
    along->pad = 0;
    if (input - 1 >= MOST || output - 1 >= MOST || kernel - 1 >= MOST || stride > MOST || dilation > MOST ||
        (uint64_t)(kernel - 1) * (uint32_t)along->dilation >= MOST) {
        return 0;
    }
    reach = (along->kernel - 1) * along->dilation + 1;
    if (padding == KIBI_SAME) {
        missing = (along->output - 1) * along->stride + reach - along->input;
        along->pad = missing > 0 ? missing / 2 : 0;
        return along->output == (along->input + along->stride - 1) / along->stride;
    }
    return padding == KIBI_VALID && reach <= along->input &&
           along->output == (along->input + along->stride - reach) / along->stride;
}

int kibi_window_of(kibi_window *window, const kibi_tensor *output, const kibi_tensor *input, uint32_t height, uint32_t width,
                   const kibi_window_options *options)
{
    static const kibi_window_options usual = {0, 0, 0, 0, KIBI_VALID, KIBI_NO_ACTIVATION};
    const kibi_window_options *const given = options != NULL ? options : &usual;
    const uint32_t *const to = output->type->dimensions;
    const uint32_t *const from = input->type->dimensions;
    window->activation = given->activation;
    if (output == input || output->type->rank != 4 || input->type->rank != 4 || to[0] != from[0] ||
        given->activation > KIBI_RELU6 ||
        !is_along(&window->rows, from[1], to[1], height, given->stride_height, given->dilation_height, given->padding) ||
        !is_along(&window->columns, from[2], to[2], width, given->stride_width, given->dilation_width, given->padding)) {
        return 0;
    }
    window->batches = from[0];
    window->input_bytes = from[2] * from[3] * kibi_element_bytes(input->type);
    window->output_bytes = to[2] * to[3] * kibi_element_bytes(output->type);
    /* Pointers to the rows under a window, and copies of them, fit 32 bits. */
    return (uint64_t)height * (window->input_bytes + 16u) < (uint64_t)1 << 31;
}

int32_t kibi_columns_outside(const kibi_window *window)
{
    const kibi_along *const across = &window->columns;
    const int32_t end = (across->output - 1) * across->stride - across->pad + across->kernel - across->input;
    if (across->dilation > 1) {
        return 1;
    }
    return end > across->pad ? end : across->pad;
}

uint32_t kibi_slide_bytes(const kibi_window *window, const kibi_tensor *output, const kibi_tensor *input)
{
    return KIBI_ROOM((uint32_t)window->rows.kernel * sizeof(void *)) + kibi_copy_bytes(output, window->output_bytes) +
           (uint32_t)window->rows.kernel * kibi_copy_bytes(input, window->input_bytes);
}

void kibi_slide(kibi_work *work, const kibi_window *window, kibi_tensor *output, kibi_tensor *input, const void *outside,
                kibi_call call, const void *params)
{
    const kibi_along *const down = &window->rows;
    const uint32_t copy_bytes = kibi_copy_bytes(input, window->input_bytes);
    const void **const rows = (const void **)kibi_take(work, (uint32_t)down->kernel * sizeof(void *));
    void *const output_copy = kibi_take(work, kibi_copy_bytes(output, window->output_bytes));
    uint8_t *const copies = (uint8_t *)kibi_take(work, (uint32_t)down->kernel * copy_bytes);
    const uint32_t steps = window->batches * (uint32_t)down->output;
    for (uint32_t step = 0; step < steps && work->status == KIBI_OK; ++step) {
        const uint32_t batch = step / (uint32_t)down->output;
        const int32_t top = (int32_t)(step % (uint32_t)down->output) * down->stride - down->pad;
        uint32_t held = 0;
        void *target;
        /* The last row first: what arrives row by row then takes the place of others before any of them is used. */
        for (int32_t k = down->kernel - 1; k >= 0; --k) {
            const int32_t y = top + k * down->dilation;
            rows[k] = outside;
            if (y >= 0 && y < down->input) {
                const uint32_t offset = (batch * (uint32_t)down->input + (uint32_t)y) * window->input_bytes;
                void *const copy = copy_bytes != 0 ? copies + (uint32_t)k * copy_bytes : NULL;
                rows[k] = kibi_fetch(work, input, offset, window->input_bytes, copy);
                held += work->status == KIBI_OK;
            }
        }
        target = kibi_target(work, output, step * window->output_bytes, window->output_bytes, output_copy);
        if (work->status == KIBI_OK) {
            call(target, rows, params);
        }
        kibi_put(work, output, step * window->output_bytes, window->output_bytes, target);
        for (; held > 0 && copy_bytes == 0; --held) {
            kibi_let_go(work->context, input);
        }
    }
}
