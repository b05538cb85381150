/* CONV_2D and FULLY_CONNECTED, int8, up to four pixels and four channels at a time: for cores with vectors. Source of the rule:
 * TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_copy_windows.h"
#include "kibi_fill_bytes.h"
#include "kibi_four_pixels_s8.h"
#include "kibi_vector_pixels_s8.h"
#include "kibi_window_columns.h"

/* Parts that only some layers need: blocks of four pixels, and such of fewer. */
#ifndef KIBI_VECTOR_PIXELS_OF_4
#define KIBI_VECTOR_PIXELS_OF_4 1
#endif
#ifndef KIBI_VECTOR_PIXELS_OF_FEWER
#define KIBI_VECTOR_PIXELS_OF_FEWER 1
#endif

enum { FOUR = 4, SCALES = 9 };

/* Copies the window that starts at a column: its columns that are inside of the input, and the zero point for the others. */
static KIBI_NOINLINE void gather(int8_t *to, const int8_t *const *rows, const kibi_conv2d_s8_vectors_params *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    const int32_t row_bytes = p->kernel_width * depth;
    const kibi_window_columns inside =
        kibi_find_columns(start, p->kernel_width, p->dilation, p->input_width, depth, depth);
    if (inside.runs * inside.run != row_bytes) {
        kibi_fill_bytes(to, p->input_zero_point, p->kernel_rows * row_bytes);
    }
    if (inside.runs > 0) {
        kibi_copied_windows task;
        task.run = inside.run;
        task.row_count = 1;
        task.windows = inside.runs;
        task.advance = inside.step;
        task.place = inside.place;
        to += inside.weight;
        for (int32_t row = 0; row < p->kernel_rows; ++row) {
            task.to = to;
            task.rows = rows + row;
            kibi_copy_windows(&task);
            to += row_bytes;
        }
    }
}

/* Copies so many windows, one after another, of which the first starts at a column: neighbours inside of the input together. */
static void gather_all(int8_t *to, const int8_t *const *rows, const kibi_conv2d_s8_vectors_params *p, int32_t start, int32_t count)
{
    const int32_t last = p->dilation == 1 ? p->input_width - p->kernel_width : -1;
    const int32_t elements = p->kernel_rows * p->kernel_width * p->input_channels;
    kibi_copied_windows task;
    task.rows = rows;
    task.run = p->kernel_width * p->input_channels;
    task.row_count = p->kernel_rows;
    task.advance = p->stride * p->input_channels;
    for (; count > 0; count -= task.windows) {
        task.windows = 1;
        if (start >= 0 && start <= last) {
            const int32_t room = (last - start) / p->stride + 1;
            task.to = to;
            task.place = start * p->input_channels;
            task.windows = count < room ? count : room;
            kibi_copy_windows(&task);
        } else {
            gather(to, rows, p, start);
        }
        to += task.windows * elements;
        start += task.windows * p->stride;
    }
}

#if KIBI_VECTOR_PIXELS_OF_4
/* Computes all channels of blocks of four pixels, or of one block of fewer: then its last pixel is computed again in the place of those
 * that are missing. */
static void compute_fours(int8_t *output, const int8_t *from, int32_t from_step, int32_t blocks, int32_t pixels,
                          const kibi_conv2d_s8_vectors_params *p)
{
    const int32_t channels = p->output_channels;
    kibi_four_pixels task;
    for (int32_t i = 0; i < FOUR; ++i) {
        task.windows[i] = from;
        task.outputs[i] = output;
        if (i + 1 < pixels) {
            from += from_step;
            output += channels;
        }
    }
    task.weights = KIBI_AT(int8_t, p, filter);
    task.factors = KIBI_AT(int32_t, p, scales);
    task.elements = p->kernel_rows * p->kernel_width * p->input_channels;
    task.fours = channels / FOUR;
    task.blocks = blocks;
    task.advance = FOUR * from_step;
    task.output_advance = (FOUR - 1) * channels;
    kibi_four_pixels_s8(&task);
}
#endif

#if KIBI_VECTOR_PIXELS_OF_FEWER
/* Computes all channels of the task's blocks. Where they are no multiple of four, there is one block, and the last four are computed
 * after the others, some of them for the second time. */
static void compute(kibi_vector_pixels *task, int8_t *output, int32_t pixels, const kibi_conv2d_s8_vectors_params *p)
{
    const int32_t channels = p->output_channels;
    const int32_t whole = channels < FOUR ? channels : channels & ~(FOUR - 1);
    task->output = output;
    task->weights = KIBI_AT(int8_t, p, filter);
    task->scales = KIBI_AT(int32_t, p, scales);
    task->channels = whole;
    task->all_channels = whole;
    kibi_vector_pixels_s8(task, pixels);
    if (whole != channels) {
        task->output = output + channels - FOUR;
        task->weights += (channels - FOUR) * task->weight_step;
        task->scales += whole / FOUR * SCALES;
        task->channels = FOUR;
        task->all_channels = FOUR;
        task->blocks = 1;
        kibi_vector_pixels_s8(task, pixels);
    }
}

/* Sets what is the same for all blocks of a row. */
static void begin_blocks(kibi_vector_pixels *task, const kibi_conv2d_s8_vectors_params *p)
{
    task->step = p->output_channels;
    task->elements = p->kernel_rows * p->kernel_width * p->input_channels;
    task->weight_step = p->weight_step;
    task->excess = -task->elements & 15;
    task->zero_point = p->output_zero_point;
    task->is_above = p->activation_min >= p->output_zero_point;
    for (int32_t i = 0; i < FOUR; ++i) {
        task->low[i] = p->activation_min;
        task->high[i] = p->activation_max;
    }
}
#endif

void kibi_conv2d_s8_vectors(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_vectors_params *params, void *scratch)
{
    const kibi_conv2d_s8_vectors_params *const p = params;
    const int32_t step = p->output_channels;
    const int8_t *from = p->gathers != 0 ? (const int8_t *)scratch : *rows;
    const int32_t from_step = p->gathers != 0 ? p->kernel_rows * p->kernel_width * p->input_channels : p->stride * p->input_channels;
    int32_t left = p->output_width;
    int32_t start = -p->pad;
#if KIBI_VECTOR_PIXELS_OF_FEWER
    kibi_vector_pixels task;
    if (p->pixels != FOUR) {
        begin_blocks(&task, p);
    }
#endif
    do {
        const int32_t pixels = left < p->pixels ? left : p->pixels;
        int32_t blocks = step % FOUR == 0 ? left / pixels : 1;
        if (p->gathers != 0) {
            blocks = blocks < p->blocks ? blocks : p->blocks;
            gather_all((int8_t *)scratch, rows, p, start, blocks * pixels);
        }
#if KIBI_VECTOR_PIXELS_OF_4
        if (p->pixels == FOUR) {
            compute_fours(output, from, from_step, blocks, pixels, p);
        }
#endif
#if KIBI_VECTOR_PIXELS_OF_FEWER
        if (p->pixels != FOUR) {
            task.blocks = blocks;
            task.windows[0] = from;
            task.windows[1] = from + from_step;
            task.windows[2] = from + 2 * from_step;
            task.advance = pixels * from_step;
            task.output_advance = (pixels - 1) * step;
            compute(&task, output, pixels, p);
        }
#endif
        from += p->gathers != 0 ? 0 : blocks * pixels * from_step;
        output += blocks * pixels * step;
        start += blocks * pixels * p->stride;
        left -= blocks * pixels;
    } while (left != 0);
}
