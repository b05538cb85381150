/* LOGICAL_OR, portable. Source of the rule: TFLM, micro/kernels/logical_common.cc. */
#include "kibi_logical_or_bool.h"

void kibi_logical_or_bool(uint8_t *output, const uint8_t *const *rows,
                          const kibi_logical_or_bool_params *params, void *scratch)
{
    const kibi_logical_or_bool_params *const p = params;
    const uint8_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const uint8_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const uint8_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = (uint8_t)(*a || *b);
            a += p->step1;
            b += p->step2;
        }
    }
}
