/* BATCH_MATMUL, float, portable: rule N24 of Kibi's numerics. Source: TFLM, reference/batch_matmul.h. */
#include "kibi_batch_matmul.h"

#include "kibi_float.h"

void kibi_batch_matmul_f32(float *output, const float *const *rows, const kibi_batch_matmul_f32_params *params,
                           void *scratch)
{
    const kibi_batch_matmul_f32_params *const p = params;
    (void)scratch;
    for (int32_t matrix = 0; matrix < p->matrix_count; ++matrix) {
        const int32_t *const at = p->matrices + 4 * matrix;
        for (int32_t m = 0; m < p->rows; ++m) {
            const float *const *const rows1 = rows + at[0] + m * p->row_pointers;
            for (int32_t n = 0; n < p->columns; ++n) {
                const float *const *const rows2 = rows + p->pointers1 + at[2] + n * p->column_pointers;
                int32_t k1 = at[1] + m * p->row_step;
                int32_t k2 = at[3] + n * p->column_step;
                float sum = 0.0f;
                for (int32_t k = 0; k < p->depth; ++k) {
                    const float *const left = rows1[k * p->depth1_pointers];
                    const float *const right = rows2[k * p->depth2_pointers];
                    sum += left[k1] * right[k2];
                    k1 += p->depth1_step;
                    k2 += p->depth2_step;
                }
                *output++ = sum;
            }
        }
    }
}
