/* BATCH_MATMUL, int16, portable: rules N26 and N35 of Kibi's numerics. Source: TFLM, reference/batch_matmul.h. */
#include "kibi_batch_matmul.h"

#include "kibi_requantize_s16.h"

void kibi_batch_matmul_s16(int16_t *output, const int16_t *const *rows, const kibi_batch_matmul_s16_params *params,
                           void *scratch)
{
    const kibi_batch_matmul_s16_params *const p = params;
    (void)scratch;
    for (int32_t matrix = 0; matrix < p->matrix_count; ++matrix) {
        const int32_t *const at = p->matrices + 4 * matrix;
        for (int32_t m = 0; m < p->rows; ++m) {
            const int16_t *const *const rows1 = rows + at[0] + m * p->row_pointers;
            for (int32_t n = 0; n < p->columns; ++n) {
                const int16_t *const *const rows2 = rows + p->pointers1 + at[2] + n * p->column_pointers;
                int32_t k1 = at[1] + m * p->row_step;
                int32_t k2 = at[3] + n * p->column_step;
                int64_t sum = 0;
                for (int32_t k = 0; k < p->depth; ++k) {
                    const int16_t *const left = rows1[k * p->depth1_pointers];
                    const int16_t *const right = rows2[k * p->depth2_pointers];
                    sum += (int64_t)left[k1] * right[k2];
                    k1 += p->depth1_step;
                    k2 += p->depth2_step;
                }
                const int32_t scaled = kibi_requantize_wide(sum, p->output_multiplier, p->output_shift);
                *output++ = (int16_t)kibi_clamp(scaled, INT16_MIN, INT16_MAX);
            }
        }
    }
}
