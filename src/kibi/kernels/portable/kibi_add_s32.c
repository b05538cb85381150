/* ADD, int32, portable. Source of the rule: TFLM, reference/add.h, AddElementwise. */
#include "kibi_add_s32.h"

#include "kibi_requantize.h"

void kibi_add_s32(int32_t *output, const int32_t *const *rows, const kibi_add_s32_params *params, void *scratch)
{
    const kibi_add_s32_params *const p = params;
    const int32_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int32_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int32_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t result = (int32_t)((uint32_t)*a + (uint32_t)*b);
            *output++ = kibi_clamp(result, p->activation_min, p->activation_max);
            a += p->step1;
            b += p->step2;
        }
    }
}
