/* AVERAGE_POOL_2D, int8, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_add_columns_s8.h"

#define KIBI_POOL_SUM int32_t
#define KIBI_POOL_ADD kibi_add_columns_s8
#include "kibi_average_pool2d_s8_accumulate.h"

void kibi_average_pool2d_s8_accumulate(int8_t *output, const int8_t *const *rows,
                                       const kibi_pool_accumulate_params *params, void *scratch, int32_t step)
{
    kibi_average_pool_row(output, rows[0], params, scratch, step);
}
