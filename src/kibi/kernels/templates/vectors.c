/* Convolutions for cores with vectors, whose windows are read where they are. kibi/kernels/templates.py says how a template is read. */

/*= kibi_conv2d_TYPE_vectors
 *  TYPE: s16 f32
 *  WEIGHT s16: int8_t
 *  WEIGHT f32: float
 *  BESIDE s16: KIBI_S16_BESIDE
 *  BESIDE f32: KIBI_F32_LANES
 *  MOST s16: KIBI_MOST_S16_PIXELS
 *  MOST f32: KIBI_MOST_F32_PIXELS
 *  SCALE s16: int32_t
 *  SCALE f32: float
 *  SCALES s16: scales
 *  SCALES f32: bias
 *  CONV_2D and FULLY_CONNECTED, four channels of one or three pixels at a time: for cores with vectors. Source of the rule: TFLM,
 * reference/conv.h and integer_ops/conv.h, Conv and ConvPerChannel. */
#include "kibi_vector_pixels_TYPE.h"

/* Sets what is computed of the window that starts at a column: those of its columns that are inside of the input. */
static void set_columns(kibi_vector_pixels_TYPE_task *task, const PARAMS *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    const int32_t first = start < 0 ? -start : 0;
    const int32_t room = p->input_width - start;
    const int32_t end = room < p->kernel_width ? room : p->kernel_width;
    task->place = (start + first) * depth * (int32_t)sizeof(TYPE_t);
    task->run = (end - first) * depth;
    task->skipped = (p->kernel_width * depth - task->run) * BESIDE * (int32_t)sizeof(WEIGHT);
    task->weights = KIBI_AT(WEIGHT, p, filter) + first * depth * BESIDE;
}

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const int32_t last = p->input_width - p->kernel_width - (MOST - 1) * p->stride;
    int32_t start = -p->pad;
    int32_t pixels;
    kibi_vector_pixels_TYPE_task task;
    (void)scratch;
    task.rows = rows;
    task.rows_end = rows + p->kernel_rows;
    task.step = p->stride * p->input_channels * (int32_t)sizeof(*output);
    task.weight_step = p->kernel_rows * p->kernel_width * p->input_channels * BESIDE * (int32_t)sizeof(WEIGHT);
    task.output_step = p->output_channels * (int32_t)sizeof(*output);
    task.low = p->activation_min;
    task.high = p->activation_max;
    for (int32_t left = p->output_width; left > 0; left -= pixels) {
        pixels = left >= MOST && start >= 0 && start <= last ? (int32_t)MOST : 1;
        set_columns(&task, p, start);
        task.SCALES = KIBI_AT(SCALE, p, SCALES);
        task.output = output;
        task.channels = p->output_channels;
        kibi_vector_pixels_TYPE(&task, pixels);
        output += pixels * p->output_channels;
        start += pixels * p->stride;
    }
}
