/* LOG_SOFTMAX, int8, portable. Source of the rule: TFLM, reference/log_softmax.h and internal/common.h. */
#include "kibi_normalization.h"

#include "kibi_exponentials_s8.h"

/* The roots of 1/2: square and fourth, as Q0.31. */
enum { ROOT_HALF = 1518500250, FOURTH_ROOT_HALF = 1805811301 };

static int32_t minimum(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t maximum(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The logarithm, as Q5.26, of a sum as Q12.19, 1 or more: that of a power of two with quarters, and that of a rest near the
 * fourth root of 1/2, which is a quotient of polynomials. */
static int32_t logarithm_of(int32_t sum)
{
    const int32_t headroom = kibi_leading_zeros((uint32_t)sum);
    const int32_t second_headroom = kibi_leading_zeros((uint32_t)kibi_multiply(sum, ROOT_HALF)) - 1;
    const int32_t first = kibi_shift_left_saturating(kibi_multiply(sum << (headroom - 1), ROOT_HALF), 1);
    const int32_t r = minimum(first, kibi_shift_left_saturating(sum, second_headroom));
    const int32_t power = maximum((12 - headroom) * (1 << 25) + (1 << 23), (12 - second_headroom) * (1 << 25) - (1 << 23));
    const int32_t mean = (int32_t)(((int64_t)r + FOURTH_ROOT_HALF + 1) >> 1);
    const int32_t q = 2 * (r - FOURTH_ROOT_HALF);
    const int32_t square = kibi_multiply(q, q);
    const int32_t numerator = kibi_multiply(q, r) + kibi_multiply(kibi_multiply(q, square), 117049297);
    const int32_t factor = 1057819769 + q + kibi_multiply(127690142, square);
    const int32_t less_one = kibi_multiply(mean, factor) + kibi_multiply(638450708, q);
    const int32_t quotient = kibi_multiply(kibi_divide_by_power(numerator, 6), kibi_one_over_one_plus(less_one));
    return kibi_shift_left_saturating(kibi_multiply(power, 1488522236) + quotient, 1);
}

static void one_vector(int8_t *output, const int8_t *input, const kibi_log_softmax_s8_params *p)
{
    const int32_t largest = kibi_largest_s8(input, p->depth);
    const int32_t sum = kibi_sum_of_exponentials(input, p->depth, largest, KIBI_AT(int32_t, p, exponentials),
                                                 p->differences);
    const int32_t logarithm = logarithm_of(sum);
    const int32_t lowest = kibi_requantize(kibi_wrapping_add(logarithm, INT32_MIN), p->inverse_multiplier, p->inverse_shift);
    const int32_t bound = maximum(p->least_difference, lowest);
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t difference = input[i] - largest;
        int32_t value = -128;
        if (difference > bound) {
            const int32_t scaled = kibi_wrapping_add(kibi_requantize(difference, p->multiplier, p->shift), -logarithm);
            value = kibi_divide_by_power(scaled, 22) + 127;
        }
        output[i] = (int8_t)kibi_clamp(value, -128, 127);
    }
}

void kibi_log_softmax_s8(int8_t *output, const int8_t *const *rows, const kibi_log_softmax_s8_params *params,
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
