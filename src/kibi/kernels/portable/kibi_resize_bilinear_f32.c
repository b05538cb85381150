/* RESIZE_BILINEAR, float, portable. Source of the rule: TFLM, reference/resize_bilinear.h, ResizeBilinear. */
#include "kibi_resize_bilinear.h"

#include "kibi_float.h"

/* row, column: pointer and place, to be added. */
static const float *neighbour(const float *const *rows, const int32_t *row, const int32_t *column)
{
    return rows[row[0] + column[0]] + row[1] + column[1];
}

void kibi_resize_bilinear_f32(float *output, const float *const *rows, const kibi_resize_bilinear_f32_params *params,
                              void *scratch)
{
    const kibi_resize_bilinear_f32_params *const p = params;
    (void)scratch;
    for (int32_t y = 0; y < p->row_count; ++y) {
        const int32_t *const row = KIBI_AT(int32_t, p, rows) + 4 * y;
        const float down = KIBI_AT(float, p, row_weights)[y];
        for (int32_t x = 0; x < p->column_count; ++x) {
            const int32_t *const column = KIBI_AT(int32_t, p, columns) + 4 * x;
            const float across = KIBI_AT(float, p, column_weights)[x];
            const float *const first = neighbour(rows, row, column);
            const float *const below = neighbour(rows, row + 2, column);
            const float *const right = neighbour(rows, row, column + 2);
            const float *const last = neighbour(rows, row + 2, column + 2);
            for (int32_t c = 0; c < p->channels; ++c) {
                float sum = first[c] * (1.0f - down) * (1.0f - across);
                sum += below[c] * down * (1.0f - across);
                sum += right[c] * (1.0f - down) * across;
                sum += last[c] * down * across;
                *output++ = sum + 0.0f;
            }
        }
    }
}
