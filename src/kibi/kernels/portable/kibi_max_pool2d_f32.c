/* MAX_POOL_2D, float, portable. Source of the rule: TFLM, reference/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_float.h"

void kibi_max_pool2d_f32(float *output, const float *const *rows, const kibi_pool_f32_params *params, void *scratch)
{
    const kibi_pool_f32_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        for (int32_t c = 0; c < p->channels; ++c) {
            float largest = KIBI_LOWEST_F32;
            for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
                if (rows[ky] == NULL) {
                    continue;
                }
                const float *input = rows[ky] + first * p->channels + c;
                for (int32_t column = first; column < end; ++column) {
                    largest = largest < *input ? *input : largest;
                    input += p->channels;
                }
            }
            *output++ = kibi_clamp_f32(largest, p->activation_min, p->activation_max);
        }
    }
}
