/* FLOOR_MOD, float, portable. Source of the rule: TFLM, reference/floor_mod.h. */
#include "kibi_floor_mod_f32.h"

#include "kibi_float.h"
#include "kibi_rest_of_bits.h"

/* The rest of a division that is cut towards zero. */
static inline float rest_of(float dividend, float divisor)
{
    const float rest = kibi_float_of_bits(kibi_rest_of_bits(kibi_bits_of_float(dividend), kibi_bits_of_float(divisor)));
    return rest != 0.0f && (divisor < 0.0f) != (rest < 0.0f) ? rest + divisor : rest;
}

void kibi_floor_mod_f32(float *output, const float *const *rows, const kibi_floor_mod_f32_params *params, void *scratch)
{
    const kibi_floor_mod_f32_params *const p = params;
    const float *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const float *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const float *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = rest_of(*a, *b);
            a += p->step1;
            b += p->step2;
        }
    }
}
