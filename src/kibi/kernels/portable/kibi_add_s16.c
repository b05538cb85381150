/* ADD, int16, portable. Source of the rule: TFLM, reference/add.h, AddFunc. */
#include "kibi_add_s16.h"

#include "kibi_requantize.h"

/* Both inputs are brought to this many more bits before they are scaled. */
enum { LEFT_SHIFT = 15 };

static inline int32_t scaled(int32_t centred, int32_t multiplier, int32_t shift)
{
    return kibi_divide_by_power(kibi_multiply_high(centred * (1 << LEFT_SHIFT), multiplier), -shift);
}

void kibi_add_s16(int16_t *output, const int16_t *const *rows, const kibi_add_s16_params *params, void *scratch)
{
    const kibi_add_s16_params *const p = params;
    const int16_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int16_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int16_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t first = scaled(*a - p->zero_point1, p->multiplier1, p->shift1);
            const int32_t second = scaled(*b - p->zero_point2, p->multiplier2, p->shift2);
            const int32_t high = kibi_multiply_high(first + second, p->output_multiplier);
            const int32_t sum = kibi_divide_by_power(high, -p->output_shift) + p->output_zero_point;
            *output++ = (int16_t)kibi_clamp(sum, p->activation_min, p->activation_max);
            a += p->step1;
            b += p->step2;
        }
    }
}
