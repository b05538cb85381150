/* RESIZE_BILINEAR, int8, portable. Source of the rule: TFLM, reference/resize_bilinear.h, ResizeBilinearInteger. */
#include "kibi_resize_bilinear.h"

void kibi_resize_bilinear_s8(int8_t *output, const int8_t *const *rows, const kibi_resize_bilinear_s8_params *params,
                             void *scratch)
{
    const kibi_resize_bilinear_s8_params *const p = params;
    (void)scratch;
    for (int32_t y = 0; y < p->row_count; ++y) {
        const int32_t *const row = KIBI_AT(int32_t, p, rows) + 3 * y;
        const int8_t *const upper = rows[row[0]] != NULL ? rows[row[0]] : rows[row[1]];
        const int8_t *const lower = rows[row[1]] != NULL ? rows[row[1]] : rows[row[0]];
        if (upper == NULL || lower == NULL) {
            return; /* no plan of Kibi's has such a step; a file may */
        }
        for (int32_t x = 0; x < p->column_count; ++x) {
            const int32_t *const column = KIBI_AT(int32_t, p, columns) + 3 * x;
            int8_t *const pixel = output + y * p->row_step + x * p->column_step;
            for (int32_t c = 0; c < p->channels; ++c) {
                const int32_t left = upper[column[0] + c] * (1024 - row[2]) + lower[column[0] + c] * row[2];
                const int32_t right = upper[column[1] + c] * (1024 - row[2]) + lower[column[1] + c] * row[2];
                /* At most 2**27: the weights add up to 2**20. */
                const int32_t sum = left * (1024 - column[2]) + right * column[2];
                pixel[c] = (int8_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
            }
        }
    }
}
