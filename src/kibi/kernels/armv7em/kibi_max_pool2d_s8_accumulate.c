/* MAX_POOL_2D, int8, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_largest4.h"
#include "kibi_requantize.h"

/* Raises maxima to the bytes of a column, or sets them where it is the first. */
static KIBI_NOINLINE void raise_to(int8_t *maxima, const int8_t *input, int32_t channels, int is_first)
{
    const int8_t *const before = is_first ? input : maxima;
    int32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
        const uint32_t largest = kibi_largest4(kibi_load4(before + c), kibi_load4(input + c));
        (void)memcpy(maxima + c, &largest, sizeof(largest));
    }
    for (; c < channels; ++c) {
        maxima[c] = input[c] > before[c] ? input[c] : before[c];
    }
}

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
        for (int32_t column = first; column < end; ++column) {
            const int is_first = step == 0 && column == first;
            raise_to(maxima + x * p->channels, rows[0] + column * p->channels, p->channels, is_first);
        }
    }
    if (step == p->steps - 1) {
        for (int32_t o = 0; o < elements; ++o) {
            output[o] = (int8_t)kibi_clamp(maxima[o], p->activation_min, p->activation_max);
        }
    }
}
