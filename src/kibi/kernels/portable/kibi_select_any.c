/* SELECT_V2, any type, portable. Source of the rule: TFLM, reference/select.h. */
#include "kibi_select_any.h"

#include <string.h>

void kibi_select_any(void *output, const void *const *rows, const kibi_select_any_params *params, void *scratch)
{
    const kibi_select_any_params *const p = params;
    const void *const *rows2 = rows + p->rows1;
    const void *const *rows3 = rows2 + p->rows2;
    uint8_t *to = (uint8_t *)output;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const uint8_t *condition = (const uint8_t *)rows[piece * p->row_step1] + piece * p->piece_step1;
        const uint8_t *a = (const uint8_t *)rows2[piece * p->row_step2] + piece * p->piece_step2 * p->bytes;
        const uint8_t *b = (const uint8_t *)rows3[piece * p->row_step3] + piece * p->piece_step3 * p->bytes;
        for (int32_t i = 0; i < p->elements; ++i) {
            (void)memmove(to, *condition != 0 ? a : b, (size_t)p->bytes);
            to += p->bytes;
            condition += p->step1;
            a += p->step2 * p->bytes;
            b += p->step3 * p->bytes;
        }
    }
}
