/* AVERAGE_POOL_2D, float, portable. Source of the rule: TFLM, reference/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_float.h"
#include "kibi_quotient_f32.h"

void kibi_average_pool2d_f32(float *output, const float *const *rows, const kibi_pool_f32_params *params, void *scratch)
{
    const kibi_pool_f32_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        for (int32_t c = 0; c < p->channels; ++c) {
            float sum = 0.0f;
            int32_t count = 0;
            for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
                if (rows[ky] == NULL) {
                    continue;
                }
                const float *input = rows[ky] + first * p->channels + c;
                for (int32_t column = first; column < end; ++column) {
                    sum += *input;
                    input += p->channels;
                    ++count;
                }
            }
            *output++ = kibi_clamp_f32(KIBI_QUOTIENT(sum, (float)count), p->activation_min, p->activation_max);
        }
    }
}
