/* AVERAGE_POOL_2D of bytes, a row of the window at a time, for cores with the DSP extension. Who includes this defines before what a sum
 * is, KIBI_POOL_SUM, and a function that adds columns to the sums of their channels, KIBI_POOL_ADD. Source of the rule: TFLM,
 * integer_ops/pooling.h, AveragePool. */
#ifndef KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_H
#define KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_H

#include "kibi_pool_rows_s8.h"

#include "kibi_requantize.h"

static KIBI_NOINLINE void finish(int8_t *output, const KIBI_POOL_SUM *sums, const kibi_pool_accumulate_params *p)
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

/* Adds a row, and writes the outputs after the last one. */
static inline void kibi_average_pool_row(int8_t *output, const int8_t *row, const kibi_pool_accumulate_params *p, void *scratch,
                                         int32_t step)
{
    KIBI_POOL_SUM *const sums = (KIBI_POOL_SUM *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(*sums) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_width * p->channels; ++o) {
            sums[o] = 0;
            __asm__ volatile(""); /* else compilers call memset, which is large */
        }
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t columns = kibi_columns_inside(x, p, &first);
        KIBI_POOL_ADD(sums + x * p->channels, row + first * p->channels, p->channels, columns);
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}

#endif
