/* SOFTMAX, int8 to int16, portable. Source of the rule: TFLM, reference/softmax.h, and gemmlowp, fixedpoint.h. */
#include "kibi_normalization.h"

#include "kibi_exponentials_s8.h"

static void one_vector(int16_t *output, const int8_t *input, const kibi_softmax_s8_params *p)
{
    const int32_t *const exponentials = KIBI_AT(int32_t, p, exponentials);
    const int32_t largest = kibi_largest_s8(input, p->depth);
    const int32_t sum = kibi_sum_of_exponentials(input, p->depth, largest, exponentials, p->differences);
    const int32_t headroom = kibi_leading_zeros((uint32_t)sum);
    const int32_t scale = kibi_one_over_one_plus((int32_t)(((uint32_t)sum << headroom) - 0x80000000u));
    const int32_t exponent = KIBI_SUM_BITS - headroom + 31 - 16;
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t difference = largest - input[i];
        int32_t value = INT16_MIN;
        if (difference < p->differences) {
            value += kibi_divide_positive(kibi_multiply_high(scale, exponentials[difference]), exponent);
            value = value > INT16_MAX ? INT16_MAX : value;
        }
        output[i] = (int16_t)value;
    }
}

void kibi_softmax_s8_s16(int16_t *output, const int8_t *const *rows, const kibi_softmax_s8_params *params,
                         void *scratch)
{
    const int8_t *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < params->vectors; ++vector) {
        one_vector(output, input, params);
        output += params->depth;
        input += params->depth;
    }
}
