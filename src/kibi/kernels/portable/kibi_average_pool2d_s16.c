/* AVERAGE_POOL_2D, int16, portable. Source of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_average_pool2d_s16.h"

#include "kibi_requantize.h"

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

void kibi_average_pool2d_s16(int16_t *output, const int16_t *const *rows, const kibi_average_pool2d_s16_params *params,
                             void *scratch)
{
    const kibi_average_pool2d_s16_params *const p = params;
    (void)scratch;
    int32_t first_row = 0;
    int32_t end_row = p->kernel_rows;
    while (rows[first_row] == NULL) {
        ++first_row;
    }
    while (rows[end_row - 1] == NULL) {
        --end_row;
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = larger(start, 0);
        const int32_t columns = smaller(start + p->kernel_width, p->input_width) - first;
        const int32_t count = columns * (end_row - first_row);
        for (int32_t c = 0; c < p->channels; ++c) {
            int32_t sum = 0;
            for (int32_t ky = first_row; ky < end_row; ++ky) {
                const int16_t *input = rows[ky] + first * p->channels + c;
                for (int32_t i = 0; i < columns; ++i) {
                    sum += *input;
                    input += p->channels;
                }
            }
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (int16_t)kibi_clamp((sum + half) / count, p->activation_min, p->activation_max);
        }
    }
}
