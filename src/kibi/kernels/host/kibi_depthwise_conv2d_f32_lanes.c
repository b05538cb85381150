/* DEPTHWISE_CONV_2D, float, for processors with vectors. Source of the rule: TFLM, reference/depthwiseconv_float.h. */
#include "kibi_depthwise_conv2d_f32_lanes.h"

#include <string.h>

#include "kibi_lanes_f32.h"

typedef kibi_depthwise_conv2d_f32_lanes_params params_type;

/* Computes a block of channels of some pixels, whose number the compiler knows, from the columns of the first one, at that
 * channel; products are added tap after tap.
 * row: elements from one copied row to the next. */
static KIBI_INLINE void compute(float *output, const params_type *p, int32_t pixels, const float *x, int32_t row,
                                int32_t channel)
{
    const int32_t vectors = pixels * KIBI_FLOAT_VECTORS;
    const float *w = KIBI_AT(float, p, filter) + channel * p->kernel_rows * p->kernel_width;
    kibi_floats total[KIBI_MOST_PIXELS * KIBI_FLOAT_VECTORS];
    memset(total, 0, (size_t)vectors * sizeof total[0]);
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        const float *place = x + ky * row;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            KIBI_UNROLL
            for (int32_t i = 0; i < vectors; ++i) {
                const int32_t lane = i % KIBI_FLOAT_VECTORS * KIBI_FLOAT_LANES;
                const int32_t pixel = i / KIBI_FLOAT_VECTORS * p->stride * p->channels;
                total[i] += kibi_load_floats(place + pixel + lane) * kibi_load_floats(w + lane);
            }
            w += KIBI_BLOCK;
            place += p->dilation * p->channels;
        }
    }
    kibi_finish_floats(output + channel, p->channels, total, KIBI_FLOAT_VECTORS, pixels, KIBI_AT(float, p, bias) + channel,
                       p->activation_min, p->activation_max, p->channels - channel);
}

/* The same of any number of pixels up to KIBI_MOST_PIXELS. */
static void compute_columns(float *output, const params_type *p, int32_t pixels, const float *x, int32_t row, int32_t channel)
{
    KIBI_WITH_PIXELS(pixels, compute, output, p, x, row, channel);
}

void kibi_depthwise_conv2d_f32_lanes(float *output, const float *const *rows,
                                     const kibi_depthwise_conv2d_f32_lanes_params *params, void *scratch)
{
    const params_type *const p = params;
    const int32_t span = (p->kernel_width - 1) * p->dilation + 1;
    const int32_t room = (KIBI_COPIED_FLOATS / (p->kernel_rows * p->channels) - span) / p->stride + 1;
    const int32_t most = room < p->output_width ? room : p->output_width;
    const int32_t columns = (most - 1) * p->stride + span;
    const int32_t row = columns * p->channels;
    KIBI_AT_LINE float copy[KIBI_COPIED_FLOATS + KIBI_BLOCK];
    (void)scratch;
    KIBI_ASSERT(room > 0);
    /* What is read after the last column is not written. */
    memset(copy + p->kernel_rows * row, 0, KIBI_BLOCK * sizeof *copy);
    for (int32_t x = 0; x < p->output_width; x += most) {
        const int32_t end = p->output_width - x < most ? p->output_width - x : most;
        for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
            kibi_copy_columns_f32(copy + ky * row, rows[ky], x * p->stride - p->pad, columns, p->input_width, p->channels);
        }
        for (int32_t i = 0, pixels; i < end; i += pixels) {
            pixels = kibi_next_pixels(end - i, kibi_most_pixels(end));
            for (int32_t c = 0; c < p->channels; c += KIBI_BLOCK) {
                compute_columns(output, p, pixels, copy + i * p->stride * p->channels + c, row, c);
            }
            output += pixels * p->channels;
        }
    }
}
