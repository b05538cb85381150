/* MAX_POOL_2D, int16, portable. Source of the rule: TFLM, integer_ops/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_requantize.h"

void kibi_max_pool2d_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                    const kibi_pool_accumulate_params *params, void *scratch, int32_t step)
{
    const kibi_pool_accumulate_params *const p = params;
    const int32_t elements = p->output_width * p->channels;
    int16_t *const maxima = (int16_t *)scratch;
    KIBI_ASSERT(maxima != NULL && (uintptr_t)scratch % sizeof(int16_t) == 0 && step >= 0 && step < p->steps);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const int16_t *input = rows[0] + first * p->channels;
        for (int32_t column = first; column < end; ++column) {
            int16_t *largest = maxima + x * p->channels;
            const int16_t *const column_end = input + p->channels;
            if (step == 0 && column == first) {
                while (input != column_end) {
                    *largest++ = *input++;
                }
            }
            KIBI_UNROLL_TWICE
            while (input != column_end) {
                const int16_t value = *input++;
                *largest = value > *largest ? value : *largest;
                ++largest;
            }
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < elements; ++o) {
            output[o] = (int16_t)kibi_clamp(maxima[o], p->activation_min, p->activation_max);
        }
    }
}
