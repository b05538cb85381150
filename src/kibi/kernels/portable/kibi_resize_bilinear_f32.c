/* RESIZE_BILINEAR, float, portable. Source of the rule: TFLM, reference/resize_bilinear.h, ResizeBilinear. */
#include "kibi_resize_bilinear_f32.h"

#include "kibi_float.h"

void kibi_resize_bilinear_f32(float *output, const float *const *rows, const kibi_resize_bilinear_f32_params *params,
                              void *scratch)
{
    const kibi_resize_bilinear_f32_params *const p = params;
    (void)scratch;
    for (int32_t y = 0; y < p->row_count; ++y) {
        const int32_t *const row = p->rows + 4 * y;
        const float below = p->down[y];
        const float above = 1.0f - below;
        for (int32_t x = 0; x < p->column_count; ++x) {
            const int32_t *const column = p->columns + 4 * x;
            const float right = p->across[x];
            const float left = 1.0f - right;
            const float *const above_left = rows[row[0] + column[0]] + row[1] + column[1];
            const float *const below_left = rows[row[2] + column[0]] + row[3] + column[1];
            const float *const above_right = rows[row[0] + column[2]] + row[1] + column[3];
            const float *const below_right = rows[row[2] + column[2]] + row[3] + column[3];
            for (int32_t c = 0; c < p->channels; ++c) {
                /* The last sum makes a zero of either sign positive. */
                *output++ = above_left[c] * above * left + below_left[c] * below * left + above_right[c] * above * right +
                            below_right[c] * below * right + 0.0f;
            }
        }
    }
}
