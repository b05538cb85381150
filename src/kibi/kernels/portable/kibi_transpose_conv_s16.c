/* TRANSPOSE_CONV, int16, portable. Source of the rule: TFLM, integer_ops/transpose_conv.h, TransposeConv of int16_t. */
#include "kibi_transpose_conv.h"

#include "kibi_requantize_s16.h"
#include "kibi_spread_columns.h"

/* A sum, plus all that row `j` and column `x` of the output take from the input; w: the channel's weights. */
static int64_t sum_of(int64_t sum, const int16_t *const *rows, const int8_t *w, int32_t j, int32_t x,
                      const kibi_transpose_conv_s16_params *p)
{
    const int32_t place = x + p->pad;
    const kibi_spread_columns columns = kibi_find_spread_columns(place, p->kernel_width, p->stride, p->input_width);
    for (int32_t r = 0; r < p->row_count; ++r) {
        const int32_t ky = j + p->row_offset - r * p->stride_rows;
        if (ky < 0 || ky >= p->kernel_rows) {
            continue;
        }
        for (int32_t ix = columns.first; ix < columns.end; ++ix) {
            const int16_t *const row = rows[r + ix * p->pointer_step];
            const int32_t kx = place - ix * p->stride;
            if (row != NULL) {
                const int8_t *const from = w + (ky * p->kernel_width + kx) * p->input_channels;
                sum = kibi_dot_s16(sum, from, row + ix * p->column_step, p->input_channels);
            }
        }
    }
    return sum;
}

void kibi_transpose_conv_s16(int16_t *output, const int16_t *const *rows, const kibi_transpose_conv_s16_params *params,
                             void *scratch)
{
    const kibi_transpose_conv_s16_params *const p = params;
    const int32_t size = p->kernel_rows * p->kernel_width * p->input_channels;
    (void)scratch;
    for (int32_t j = 0; j < p->rows_made; ++j) {
        for (int32_t x = 0; x < p->output_width; ++x) {
            for (int32_t o = 0; o < p->output_channels; ++o) {
                const int64_t sum = sum_of(p->bias[o], rows, p->filter + o * size, j, x, p);
                const int32_t scaled = kibi_requantize_wide(sum, p->multiplier[o], p->shift[o]);
                *output++ = (int16_t)kibi_clamp(scaled, p->activation_min, p->activation_max);
            }
        }
    }
}
