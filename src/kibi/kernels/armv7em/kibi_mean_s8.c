/* MEAN, int8, for cores with the DSP extension. Source of the rule: TFLM, reference/reduce.h, QuantizedMeanOrSum. */
#include "kibi_reduction.h"

#include "kibi_add_columns_s8.h"
#include "kibi_requantize.h"

/* Axes in any order, not just the columns of a row. */
#ifndef KIBI_MEAN_S8_OF_ANY_AXES
#define KIBI_MEAN_S8_OF_ANY_AXES 1
#endif

static void finish(int8_t *output, const int32_t *sums, const kibi_mean_params *p)
{
    for (int32_t o = 0; o < p->output_elements; ++o) {
        const int32_t mean = kibi_requantize(sums[o], p->multiplier, p->shift);
        output[o] = (int8_t)kibi_clamp(kibi_wrapping_add(mean, p->output_zero_point), -128, 127);
    }
}

static void add_elements(int32_t *sums, const int8_t *input, const kibi_mean_params *p)
{
    for (int32_t k = 0; k < p->size2; ++k) {
        int32_t *sum = sums + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            *sum = kibi_wrapping_add(*sum, *input++);
            sum += p->step3;
        }
    }
}

void kibi_mean_s8(int8_t *output, const int8_t *const *rows, const kibi_mean_params *params, void *scratch, int32_t step)
{
    const kibi_mean_params *const p = params;
    int32_t *const sums = (int32_t *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int32_t) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            sums[o] = p->start;
        }
    }
    int32_t *const start = sums + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    if (!KIBI_MEAN_S8_OF_ANY_AXES || (KIBI_ADD_COLUMNS_S8_OF_FOURS && p->step2 == 0 && p->step3 == 1)) {
        kibi_add_columns_s8(start, rows[0], p->size3, p->size2);
    } else {
        add_elements(start, rows[0], p);
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}
