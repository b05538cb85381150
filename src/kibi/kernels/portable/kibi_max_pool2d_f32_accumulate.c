/* MAX_POOL_2D, float, portable. Source of the rule: TFLM, reference/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_float.h"

void kibi_max_pool2d_f32_accumulate(float *output, const float *const *rows,
                                    const kibi_pool_f32_accumulate_params *params, void *scratch, int32_t step)
{
    const kibi_pool_f32_accumulate_params *const p = params;
    const int32_t elements = p->output_width * p->channels;
    float *const maxima = (float *)scratch;
    KIBI_ASSERT(maxima != NULL && (uintptr_t)scratch % sizeof(float) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < elements; ++o) {
            maxima[o] = KIBI_LOWEST_F32;
        }
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const float *input = rows[0] + first * p->channels;
        for (int32_t column = first; column < end; ++column) {
            float *largest = maxima + x * p->channels;
            const float *const column_end = input + p->channels;
            while (input != column_end) {
                *largest = *largest < *input ? *input : *largest;
                ++largest;
                ++input;
            }
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < elements; ++o) {
            output[o] = kibi_clamp_f32(maxima[o], p->activation_min, p->activation_max);
        }
    }
}
