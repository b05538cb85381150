/* AVERAGE_POOL_2D, int8, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/pooling.h, AveragePool. */
#include "kibi_pool_rows_s8.h"

#include "kibi_add_columns_s8.h"
#include "kibi_requantize.h"

static KIBI_NOINLINE void finish(int8_t *output, const int32_t *sums, const kibi_pool_accumulate_params *p)
{
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t count = kibi_columns_inside(x, p, &first) * p->steps;
        for (int32_t c = 0; c < p->channels; ++c) {
            const int32_t sum = *sums++;
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (int8_t)kibi_clamp((sum + half) / count, p->activation_min, p->activation_max);
        }
    }
}

void kibi_average_pool2d_s8_accumulate(int8_t *output, const int8_t *const *rows,
                                       const kibi_pool_accumulate_params *params, void *scratch, int32_t step)
{
    const kibi_pool_accumulate_params *const p = params;
    int32_t *const sums = (int32_t *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_width * p->channels; ++o) {
            sums[o] = 0;
            __asm__ volatile(""); /* else compilers call memset, which is large */
        }
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t columns = kibi_columns_inside(x, p, &first);
        kibi_add_columns_s8(sums + x * p->channels, rows[0] + first * p->channels, p->channels, columns);
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}
