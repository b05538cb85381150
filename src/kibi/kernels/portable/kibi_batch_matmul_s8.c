/* BATCH_MATMUL, int8, portable: rule N35 of Kibi's numerics. Source: TFLM, reference/batch_matmul.h. */
#include "kibi_batch_matmul.h"

#include "kibi_requantize.h"

void kibi_batch_matmul_s8(int8_t *output, const int8_t *const *rows, const kibi_batch_matmul_s8_params *params,
                          void *scratch)
{
    const kibi_batch_matmul_s8_params *const p = params;
    (void)scratch;
    for (int32_t matrix = 0; matrix < p->matrix_count; ++matrix) {
        const int32_t *const at = p->matrices + 4 * matrix;
        for (int32_t m = 0; m < p->rows; ++m) {
            const int8_t *const *const rows1 = rows + at[0] + m * p->row_pointers;
            for (int32_t n = 0; n < p->columns; ++n) {
                const int8_t *const *const rows2 = rows + p->pointers1 + at[2] + n * p->column_pointers;
                int32_t k1 = at[1] + m * p->row_step;
                int32_t k2 = at[3] + n * p->column_step;
                uint32_t sum = 0;
                for (int32_t k = 0; k < p->depth; ++k) {
                    const int8_t *const left = rows1[k * p->depth1_pointers];
                    const int8_t *const right = rows2[k * p->depth2_pointers];
                    sum += (uint32_t)(((int32_t)left[k1] - p->zero_point1) * ((int32_t)right[k2] - p->zero_point2));
                    k1 += p->depth1_step;
                    k2 += p->depth2_step;
                }
                const int32_t scaled = kibi_requantize((int32_t)sum, p->output_multiplier, p->output_shift);
                *output++ = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), INT8_MIN, INT8_MAX);
            }
        }
    }
}
