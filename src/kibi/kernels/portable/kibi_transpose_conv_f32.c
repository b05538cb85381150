/* TRANSPOSE_CONV, float, portable. Source of the rule: TFLM, reference/transpose_conv.h, TransposeConv. */
#include "kibi_transpose_conv.h"

#include "kibi_dot_f32.h"
#include "kibi_spread_columns.h"

/* A sum, plus all that row `j` and column `x` of the output take from the input; w: the channel's weights. */
static float sum_of(float sum, const float *const *rows, const float *w, int32_t j, int32_t x,
                    const kibi_transpose_conv_f32_params *p)
{
    const int32_t place = x + p->pad;
    const kibi_spread_columns columns = kibi_find_spread_columns(place, p->kernel_width, p->stride, p->input_width);
    for (int32_t r = 0; r < p->row_count; ++r) {
        const int32_t ky = j + p->row_offset - r * p->stride_rows;
        if (ky < 0 || ky >= p->kernel_rows) {
            continue;
        }
        for (int32_t ix = columns.first; ix < columns.end; ++ix) {
            const float *const row = rows[r + ix * p->pointer_step];
            const int32_t kx = place - ix * p->stride;
            if (row != NULL) {
                const float *const from = w + (ky * p->kernel_width + kx) * p->input_channels;
                sum = kibi_dot_f32(sum, from, row + ix * p->column_step, p->input_channels);
            }
        }
    }
    return sum;
}

void kibi_transpose_conv_f32(float *output, const float *const *rows, const kibi_transpose_conv_f32_params *params,
                             void *scratch)
{
    const kibi_transpose_conv_f32_params *const p = params;
    const int32_t size = p->kernel_rows * p->kernel_width * p->input_channels;
    (void)scratch;
    for (int32_t j = 0; j < p->rows_made; ++j) {
        for (int32_t x = 0; x < p->output_width; ++x) {
            for (int32_t o = 0; o < p->output_channels; ++o) {
                const float sum = sum_of(0.0f, rows, p->filter + o * size, j, x, p);
                *output++ = kibi_clamp_f32(sum + p->bias[o], p->activation_min, p->activation_max);
            }
        }
    }
}
