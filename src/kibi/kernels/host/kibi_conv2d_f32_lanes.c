/* CONV_2D, float, for processors with vectors. Source of the rule: TFLM, reference/conv.h, Conv. */
#include "kibi_conv2d_f32_lanes.h"

#include "kibi_lanes_f32.h"

#define KIBI_ROW_PARAMS kibi_conv2d_f32_lanes_params
#define KIBI_ROW_ELEMENT float
#define KIBI_ROW_COPY float
#define KIBI_ROW_ROOM KIBI_COPIED_FLOATS
#define KIBI_ROW_STEP 1
#include "kibi_conv2d_lanes.h"

#define MOST_SUMS (KIBI_MOST_PIXELS * KIBI_MOST_BLOCKS * KIBI_FLOAT_VECTORS)

static inline void kibi_copy_columns(float *to, const float *row, const kibi_conv2d_f32_lanes_params *p, int32_t start,
                                     int32_t columns)
{
    kibi_copy_columns_f32(to, row, start, columns, p->input_width, p->input_channels);
}

/* The row itself where windows are columns of it, and no output is written over an element; else NULL. */
static inline const float *kibi_uncopied(const float *output, const float *row, const kibi_conv2d_f32_lanes_params *p)
{
    const uintptr_t from = (uintptr_t)row;
    const uintptr_t to = (uintptr_t)output;
    const size_t read = (size_t)(p->input_width * p->input_channels) * sizeof *row;
    const size_t written = (size_t)(p->output_width * p->output_channels) * sizeof *row;
    const int32_t is_inside = p->pad == 0 && (p->output_width - 1) * p->stride < p->input_width;
    const int32_t is_column = p->kernel_rows == 1 && p->kernel_width == 1 && is_inside;
    return is_column && (to + written <= from || from + read <= to) ? row : NULL;
}

/* Products are added in the order of elements. */
static KIBI_INLINE void kibi_compute_blocks(float *output, const kibi_conv2d_f32_lanes_params *p, int32_t pixels, int32_t blocks,
                                            const float *x, const kibi_window_geometry *g, int32_t channel)
{
    const int32_t vectors = blocks * KIBI_FLOAT_VECTORS;
    const int32_t elements = p->kernel_rows * g->runs * g->steps;
    const float *w = KIBI_AT(float, p, filter) + channel * elements;
    kibi_floats total[MOST_SUMS];
    memset(total, 0, (size_t)(pixels * vectors) * sizeof total[0]);
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        for (int32_t run = 0; run < g->runs; ++run) {
            const float *place = x + ky * g->row + run * g->column;
            KIBI_UNROLL_TWICE
            for (int32_t k = 0; k < g->steps; ++k) {
                kibi_floats weights[KIBI_MOST_BLOCKS * KIBI_FLOAT_VECTORS];
                KIBI_UNROLL
                for (int32_t v = 0; v < vectors; ++v) {
                    weights[v] = kibi_load_floats(w + v / KIBI_FLOAT_VECTORS * elements * KIBI_BLOCK +
                                                  v % KIBI_FLOAT_VECTORS * KIBI_FLOAT_LANES);
                }
                KIBI_UNROLL
                for (int32_t pixel = 0; pixel < pixels; ++pixel) {
                    KIBI_UNROLL
                    for (int32_t v = 0; v < vectors; ++v) {
                        total[pixel * vectors + v] += kibi_times(weights[v], place + pixel * g->pixel);
                    }
                }
                w += KIBI_BLOCK;
                ++place;
            }
        }
    }
    KIBI_UNROLL
    for (int32_t block = 0; block < blocks; ++block) {
        const int32_t first = channel + block * KIBI_BLOCK;
        kibi_finish_floats(output + first, g->channels, total + block * KIBI_FLOAT_VECTORS, vectors, pixels,
                           KIBI_AT(float, p, bias) + first, p->activation_min, p->activation_max, g->channels - first);
    }
}

/* 1 if no element of the input's rows is larger than the limit in magnitude, and none is a NaN. */
static int32_t kibi_is_small(const float *const *rows, const kibi_conv2d_f32_lanes_params *p)
{
    const int32_t elements = p->input_width * p->input_channels;
    const float limit = p->limit;
    int32_t is_small = 1;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        const float *const row = rows[ky];
        for (int32_t i = 0; row != NULL && i < elements; ++i) {
            is_small = row[i] <= limit && -limit <= row[i] ? is_small : 0;
        }
    }
    return is_small;
}

/* Computes packed channels into scratch, and puts them where the output has them. Quiet channels have weights so small that their
 * sums of products are lost in the rounding of the bias, as long as the input is small, too: then they are constants. */
static void kibi_convolve_loud(float *output, const float *const *rows, const kibi_conv2d_f32_lanes_params *p, float *computed)
{
    const int32_t is_small = kibi_is_small(rows, p);
    const int32_t channels = is_small ? p->loud_channels : p->output_channels;
    const int32_t *const order = KIBI_AT(int32_t, p, order);
    kibi_convolve_row(computed, rows, p, channels);
    for (int32_t pixel = 0; pixel < p->output_width; ++pixel) {
        if (is_small) {
            memcpy(output, KIBI_AT(float, p, quiet), (size_t)p->output_channels * sizeof *output);
        }
        for (int32_t channel = 0; channel < channels; ++channel) {
            output[KIBI_NOT_ABOVE(order[channel], p->output_channels - 1)] = *computed++;
        }
        output += p->output_channels;
    }
}

void kibi_conv2d_f32_lanes(float *output, const float *const *rows, const kibi_conv2d_f32_lanes_params *params,
                           void *scratch)
{
    if (params->loud_channels > 0) {
        kibi_convolve_loud(output, rows, params, (float *)scratch);
    } else {
        kibi_convolve_row(output, rows, params, params->output_channels);
    }
}
