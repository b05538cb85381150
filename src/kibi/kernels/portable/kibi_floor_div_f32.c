/* FLOOR_DIV, float, portable. Source of the rule: TFLM, reference/floor_div.h. */
#include "kibi_floor_div_f32.h"

#include "kibi_float.h"

/* The largest integer that is not above the value; zeros, infinities and NaN stay what they are. */
static inline double floor_of(double value)
{
    /* From 2**52 on there is no fraction. */
    if (!(value < 4503599627370496.0 && value > -4503599627370496.0) || value == 0.0) {
        return value;
    }
    const double whole = (double)(int64_t)value;
    return whole > value ? whole - 1.0 : whole;
}

void kibi_floor_div_f32(float *output, const float *const *rows, const kibi_floor_div_f32_params *params, void *scratch)
{
    const kibi_floor_div_f32_params *const p = params;
    const float *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const float *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const float *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            *output++ = (float)floor_of((double)*a / (double)*b);
            a += p->step1;
            b += p->step2;
        }
    }
}
