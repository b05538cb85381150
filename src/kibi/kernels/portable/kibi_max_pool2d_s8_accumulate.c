/* MAX_POOL_2D, int8, portable. Source of the rule: TFLM, integer_ops/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_requantize.h"

void kibi_max_pool2d_s8_accumulate(int8_t *output, const int8_t *const *rows, const kibi_pool_accumulate_params *params,
                                   void *scratch, int32_t step)
{
    const kibi_pool_accumulate_params *const p = params;
    const int32_t elements = p->output_width * p->channels;
    int8_t *const maxima = (int8_t *)scratch;
    KIBI_ASSERT(maxima != NULL && step >= 0 && step < p->steps);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const int8_t *input = rows[0] + first * p->channels;
        for (int32_t column = first; column < end; ++column) {
            int8_t *largest = maxima + x * p->channels;
            const int8_t *const column_end = input + p->channels;
            if (step == 0 && column == first) {
                while (input != column_end) {
                    *largest++ = *input++;
                }
            }
            KIBI_UNROLL_TWICE
            while (input != column_end) {
                const int8_t value = *input++;
                *largest = value > *largest ? value : *largest;
                ++largest;
            }
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < elements; ++o) {
            output[o] = (int8_t)kibi_clamp(maxima[o], p->activation_min, p->activation_max);
        }
    }
}
