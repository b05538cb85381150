/* SOFTMAX, int16, portable. Source of the rule: TFLM, reference/softmax.h, SoftmaxInt16. */
#include "kibi_normalization.h"

#include "kibi_requantize.h"

/* A table of 513 entries on -32768 … 32768, on the line between two of them. value: -32768 … 32767. */
static int32_t between(const int16_t *table, int32_t value)
{
    const int32_t place = 256 + (value >> 7);
    const int32_t slope = table[place + 1] - table[place];
    return (int16_t)(table[place] + ((slope * (value & 127) + 64) >> 7));
}

static int32_t leading_zeros(uint32_t value)
{
    int32_t count = 0;
    while ((value & 0x80000000u) == 0u) {
        value <<= 1;
        ++count;
    }
    return count;
}

/* Writes the exponentials of the differences to the largest element, and adds them up; in units of 2**-15. */
static int32_t sum_of_exponentials(int16_t *output, const int16_t *input, const kibi_softmax_s16_params *p)
{
    int32_t largest = input[0];
    int32_t sum = 0;
    for (int32_t i = 1; i < p->depth; ++i) {
        largest = input[i] > largest ? input[i] : largest;
    }
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t scaled = kibi_requantize(input[i] - largest, p->multiplier, p->shift);
        const int32_t power = between(KIBI_AT(int16_t, p, exponentials),
                                      kibi_clamp(kibi_wrapping_add(scaled, 32767), -32768, 32767));
        output[i] = (int16_t)power;
        sum += power;
    }
    return sum;
}

static void one_vector(int16_t *output, const int16_t *input, const kibi_softmax_s16_params *p)
{
    const int32_t sum = sum_of_exponentials(output, input, p);
    const int32_t headroom = leading_zeros((uint32_t)sum);
    /* 1 … 2 in units of 2**-16, less 1.5: places of the table. */
    const int32_t shifted = (int32_t)((((int64_t)sum << (headroom - 1)) + (1 << 13)) >> 14) - (1 << 16) - (1 << 15);
    const int32_t scale = between(KIBI_AT(int16_t, p, reciprocals), kibi_clamp(shifted, -32768, 32767));
    const int32_t shift = 31 - headroom;
    for (int32_t i = 0; i < p->depth; ++i) {
        const int32_t product = (int32_t)(((int64_t)output[i] * scale + ((int64_t)1 << shift >> 1)) >> shift);
        output[i] = (int16_t)kibi_clamp(product, 0, 32767);
    }
}

void kibi_softmax_s16(int16_t *output, const int16_t *const *rows, const kibi_softmax_s16_params *params, void *scratch)
{
    const int16_t *input = rows[0];
    (void)scratch;
    for (int32_t vector = 0; vector < params->vectors; ++vector) {
        one_vector(output, input, params);
        output += params->depth;
        input += params->depth;
    }
}
