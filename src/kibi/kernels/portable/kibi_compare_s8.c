/* Comparisons, int8, portable: rule N33 of Kibi's numerics. Source: TFLM, reference/comparisons.h. */
#include "kibi_compare_s8.h"

#include "kibi_requantize.h"

/* Inputs have this many more bits when they are scaled. */
enum { LEFT_SHIFT = 8 };

void kibi_compare_s8(uint8_t *output, const int8_t *const *rows, const kibi_compare_s8_params *params, void *scratch)
{
    const kibi_compare_s8_params *const p = params;
    const int8_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int8_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t first = kibi_requantize((*a - p->zero_point1) * (1 << LEFT_SHIFT), p->multiplier1, p->shift1);
            const int32_t second = kibi_requantize((*b - p->zero_point2) * (1 << LEFT_SHIFT), p->multiplier2, p->shift2);
            const int32_t outcome = first < second ? 1 : first == second ? 2 : 4;
            *output++ = (uint8_t)((outcome & p->relation) != 0);
            a += p->step1;
            b += p->step2;
        }
    }
}
