/* Comparisons, bool, portable. Source of the rule: TFLM, reference/comparisons.h. */
#include "kibi_compare_bool.h"

/* How a stands to b, as in `relation`. */
static inline int32_t outcome(uint8_t a, uint8_t b)
{
    return a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
}

void kibi_compare_bool(uint8_t *output, const uint8_t *const *rows, const kibi_compare_bool_params *params, void *scratch)
{
    const kibi_compare_bool_params *const p = params;
    const uint8_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const uint8_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const uint8_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = (uint8_t)((outcome(*a, *b) & p->relation) != 0);
            a += p->step1;
            b += p->step2;
        }
    }
}
