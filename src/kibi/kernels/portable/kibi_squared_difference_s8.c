/* SQUARED_DIFFERENCE, int8, portable. Source of the rule: TFLM, micro/kernels/squared_difference.cc. */
#include "kibi_squared_difference_s8.h"

#include "kibi_requantize.h"

/* Both inputs are brought to this many more bits before they are scaled. */
enum { LEFT_SHIFT = 7 };

static inline int32_t scaled(int32_t centred, int32_t multiplier, int32_t shift)
{
    return kibi_divide_by_power(kibi_multiply_high(centred * (1 << LEFT_SHIFT), multiplier), -shift);
}

void kibi_squared_difference_s8(int8_t *output, const int8_t *const *rows, const kibi_squared_difference_s8_params *params,
                                void *scratch)
{
    const kibi_squared_difference_s8_params *const p = params;
    const int8_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int8_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t first = scaled(*a - p->zero_point1, p->multiplier1, p->shift1);
            const int32_t second = scaled(*b - p->zero_point2, p->multiplier2, p->shift2);
            const uint32_t difference = (uint32_t)(first - second);
            const int32_t square = kibi_requantize((int32_t)(difference * difference), p->output_multiplier, p->output_shift);
            const int32_t moved = kibi_wrapping_add(square, p->output_zero_point);
            *output++ = (int8_t)kibi_clamp(moved, -128, 127);
            a += p->step1;
            b += p->step2;
        }
    }
}
