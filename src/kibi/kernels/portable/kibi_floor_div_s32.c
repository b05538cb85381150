/* FLOOR_DIV, int32, portable. */
#include "kibi_floor_div_s32.h"

/* Where the divisor is 0, or the quotient 2**31, the dividend: neither stops the program. */
static inline int32_t floor_of(int32_t a, int32_t b)
{
    if (b == 0 || (b == -1 && a == INT32_MIN)) {
        return a;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

void kibi_floor_div_s32(int32_t *output, const int32_t *const *rows, const kibi_floor_div_s32_params *params, void *scratch)
{
    const kibi_floor_div_s32_params *const p = params;
    const int32_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int32_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int32_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = floor_of(*a, *b);
            a += p->step1;
            b += p->step2;
        }
    }
}
