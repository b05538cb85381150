/* CONV_2D and FULLY_CONNECTED, float, four channels of up to three pixels at a time: for cores with vectors. Source of the rule: TFLM,
 * reference/conv.h, Conv. */
#include "kibi_conv2d.h"

#include "kibi_vector_pixels_f32.h"

enum { LANE_BYTES = KIBI_F32_LANES * (int)sizeof(float) };

/* Sets what is computed of the window that starts at a column: those of its columns that are inside of the input. */
static void set_columns(kibi_vector_pixels_f32_task *task, const kibi_conv2d_f32_vectors_params *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    const int32_t first = start < 0 ? -start : 0;
    const int32_t room = p->input_width - start;
    const int32_t end = room < p->kernel_width ? room : p->kernel_width;
    task->place = (start + first) * depth * (int32_t)sizeof(float);
    task->run = (end - first) * depth;
    task->skipped = (p->kernel_width * depth - task->run) * LANE_BYTES;
    task->weights = KIBI_AT(float, p, filter) + first * depth * KIBI_F32_LANES;
}

void kibi_conv2d_f32_vectors(float *output, const float *const *rows, const kibi_conv2d_f32_vectors_params *params, void *scratch)
{
    const kibi_conv2d_f32_vectors_params *const p = params;
    const int32_t last = p->input_width - p->kernel_width - (KIBI_MOST_F32_PIXELS - 1) * p->stride;
    int32_t start = -p->pad;
    int32_t pixels;
    kibi_vector_pixels_f32_task task;
    (void)scratch;
    task.rows = rows;
    task.rows_end = rows + p->kernel_rows;
    task.step = p->stride * p->input_channels * (int32_t)sizeof(float);
    task.weight_step = p->kernel_rows * p->kernel_width * p->input_channels * LANE_BYTES;
    task.output_step = p->output_channels * (int32_t)sizeof(float);
    task.low = p->activation_min;
    task.high = p->activation_max;
    for (int32_t left = p->output_width; left > 0; left -= pixels) {
        pixels = left >= KIBI_MOST_F32_PIXELS && start >= 0 && start <= last ? KIBI_MOST_F32_PIXELS : 1;
        set_columns(&task, p, start);
        task.bias = KIBI_AT(float, p, bias);
        task.output = output;
        task.channels = p->output_channels;
        kibi_vector_pixels_f32(&task, pixels);
        output += pixels * p->output_channels;
        start += pixels * p->stride;
    }
}
