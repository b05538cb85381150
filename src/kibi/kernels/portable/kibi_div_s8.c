/* DIV, int8, portable. Source of the rule: TFLM, reference/div.h, DivElementwise. */
#include "kibi_div_s8.h"

#include "kibi_requantize.h"

/* The number of bits of a magnitude. */
static inline int32_t bits_of(int32_t value)
{
    int32_t count = 0;
    while (value != 0) {
        value >>= 1;
        ++count;
    }
    return count;
}

/* a / b in the output's scale; b == 0 gives what lies beyond the range, on the side of a. */
static inline int32_t quotient(int32_t a, int32_t b, const kibi_div_s8_params *p)
{
    if (b == 0) {
        return a == 0 ? p->output_zero_point : (a < 0 ? -0x10000 : 0x10000);
    }
    const int32_t dividend = b < 0 ? -a : a;
    const int32_t divisor = b < 0 ? -b : b;
    /* As far to the left as the sign allows: -1 has one bit less than its magnitude. */
    const int32_t headroom = 31 - bits_of(dividend < 0 ? ~dividend : dividend);
    const int32_t high = kibi_multiply_high((int32_t)((uint32_t)dividend << headroom), p->reciprocals[divisor]);
    const int32_t exponent = headroom + bits_of(divisor) - 1 - p->output_shift;
    const int32_t scaled = kibi_divide_by_power(kibi_multiply_high(high, p->output_multiplier), exponent > 31 ? 31 : exponent);
    return (exponent > 31 ? 0 : scaled) + p->output_zero_point;
}

void kibi_div_s8(int8_t *output, const int8_t *const *rows, const kibi_div_s8_params *params, void *scratch)
{
    const kibi_div_s8_params *const p = params;
    const int8_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const int8_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const int32_t result = quotient(*a - p->zero_point1, *b - p->zero_point2, p);
            *output++ = (int8_t)kibi_clamp(result, p->activation_min, p->activation_max);
            a += p->step1;
            b += p->step2;
        }
    }
}
