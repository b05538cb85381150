/* Reductions: what each row of the input changes in the sums, or in what replaces them, of the output. kibi/kernels/templates.py says how a template is read. */

/*= kibi_mean_TYPE
 *  TYPE: s8 s16
 *  SUM: int32_t
 *  START: p->start
 *  GROW: *sum = kibi_wrapping_add(*sum, *input++);
 *  LEAST s8: -128
 *  LEAST s16: INT16_MIN
 *  MOST s8: 127
 *  MOST s16: INT16_MAX
 *  MEAN of integers. Source of the rule: TFLM, reference/reduce.h, QuantizedMeanOrSum. */
#include "kibi_requantize.h"

static void finish(TYPE_t *output, const SUM *sums, const PARAMS *p)
{
    for (int32_t o = 0; o < p->output_elements; ++o) {
        const int32_t mean = kibi_requantize(sums[o], p->multiplier, p->shift);
        output[o] = (TYPE_t)kibi_clamp(kibi_wrapping_add(mean, p->output_zero_point), LEAST, MOST);
    }
}

/*= kibi_mean_f32
 *  TYPE: f32
 *  SUM: float
 *  START: 0.0f
 *  GROW: *sum += *input++;
 *  MEAN of floats. Source of the rule: TFLM, reference/reduce.h, Mean. */
#include "kibi_float.h"
#include "kibi_quotient_f32.h"

static void finish(float *output, const float *sums, const PARAMS *p)
{
    for (int32_t o = 0; o < p->output_elements; ++o) {
        output[o] = KIBI_QUOTIENT(sums[o], p->count);
    }
}

/*= kibi_sum_f32
 *  TYPE: f32
 *  SUM: float
 *  START: 0.0f
 *  GROW: *sum += *input++;
 *  SUM of floats. Source of the rule: TFLM, reference/reduce.h, ReduceGeneric. */
#include <string.h>

#include "kibi_float.h"

static void finish(float *output, const float *sums, const PARAMS *p)
{
    (void)memcpy(output, sums, (size_t)p->output_elements * sizeof(*output));
}

/*= kibi_reduce_extreme_TYPE
 *  TYPE: s8 f32
 *  SUM: TYPE_t
 *  START s8: p->is_max ? INT8_MIN : INT8_MAX
 *  START f32: p->is_max ? -FLT_MAX : FLT_MAX
 *  GROW: grow(sum, *input++, p);
 *  REDUCE_MAX and REDUCE_MIN. Source of the rule: TFLM, reference/reduce.h, ReduceGeneric. */
#include <float.h>
#include <string.h>

static inline void grow(SUM *sum, TYPE_t value, const PARAMS *p)
{
    if (p->is_max ? value > *sum : value < *sum) {
        *sum = value;
    }
}

static void finish(TYPE_t *output, const SUM *sums, const PARAMS *p)
{
    (void)memcpy(output, sums, (size_t)p->output_elements * sizeof(*output));
}

/*= =
 *  The walk through a row. */

void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch, int32_t step)
{
    const PARAMS *const p = params;
    SUM *const sums = (SUM *)scratch;
    const TYPE_t *input = rows[0];
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(SUM) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_elements; ++o) {
            sums[o] = START;
        }
    }
    SUM *const start = sums + step / p->size1 * p->step0 + step % p->size1 * p->step1;
    for (int32_t k = 0; k < p->size2; ++k) {
        SUM *sum = start + k * p->step2;
        for (int32_t l = 0; l < p->size3; ++l) {
            GROW
            sum += p->step3;
        }
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}
