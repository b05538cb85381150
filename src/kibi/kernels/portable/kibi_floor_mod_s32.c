/* FLOOR_MOD, int32, portable. */
#include "kibi_floor_mod_s32.h"

/* The rest, which has the sign of the divisor; 0 where the divisor is 0. */
static inline int32_t rest_of(int32_t a, int32_t b)
{
    if (b == 0 || b == -1) {
        return 0;
    }
    const int32_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

void kibi_floor_mod_s32(int32_t *output, const int32_t *const *rows, const kibi_floor_mod_s32_params *params, void *scratch)
{
    const kibi_floor_mod_s32_params *const p = params;
    const int32_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int32_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int32_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = rest_of(*a, *b);
            a += p->step1;
            b += p->step2;
        }
    }
}
