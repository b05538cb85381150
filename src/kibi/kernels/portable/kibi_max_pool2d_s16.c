/* MAX_POOL_2D, int16, portable. Source of the rule: TFLM, integer_ops/pooling.h, MaxPool. */
#include "kibi_max_pool2d_s16.h"

#include "kibi_requantize.h"

void kibi_max_pool2d_s16(int16_t *output, const int16_t *const *rows, const kibi_max_pool2d_s16_params *params,
                         void *scratch)
{
    const kibi_max_pool2d_s16_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        for (int32_t c = 0; c < p->channels; ++c) {
            int32_t largest = -32768;
            for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
                if (rows[ky] == NULL) {
                    continue;
                }
                const int16_t *input = rows[ky] + first * p->channels + c;
                for (int32_t column = first; column < end; ++column) {
                    largest = *input > largest ? *input : largest;
                    input += p->channels;
                }
            }
            *output++ = (int16_t)kibi_clamp(largest, p->activation_min, p->activation_max);
        }
    }
}
