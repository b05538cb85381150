/* SVDF of int8 from packed weights, portable. Source of the rule: TFLM, micro/kernels/svdf_common.cc. */
#include <string.h>

#include "kibi_requantize.h"
#include "kibi_svdf.h"

enum { BLOCK = 4, RESULT_BITS = 12, OUTPUT_BITS = 8 };

/* The high half of a sum times a factor: rule N55. */
static int32_t product(uint32_t sum, int32_t factor)
{
    return (int32_t)((int64_t)(int32_t)sum * factor >> 32);
}

/* A filter's newest result, from 256 times its sum. */
static int32_t result_of(uint32_t sum, const kibi_svdf_s8_blocks_params *p)
{
    const int32_t added = (int32_t)sum < 0 ? 0 : p->result_switch;
    return kibi_clamp((added + product(sum, p->result_factor)) >> RESULT_BITS, -128, 127);
}

/* The same of an output: five bits of the switch count, and only where a sum has no minus. */
static int32_t output_of(uint32_t sum, const kibi_svdf_s8_blocks_params *p)
{
    const int32_t added = (int32_t)((uint32_t)p->output_switch & ~(sum >> 27));
    return kibi_clamp((added + product(sum, p->output_factor)) >> OUTPUT_BITS, -128, 127);
}

/* The lowest byte of a word, with its sign. */
static int32_t low_byte(uint32_t word)
{
    return (int32_t)(word & 0x7Fu) - (int32_t)(word & 0x80u);
}

/* A sum, plus 256 times the products of up to four elements and the weights in a word. */
static uint32_t add_word(uint32_t sum, uint32_t word, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count && k < 4; ++k) {
        sum += 256u * (uint32_t)(low_byte(word >> 8 * k) * x[k]);
    }
    return sum;
}

/* The same of packed pairs: a half is 256 times the first of two weights, plus the second one, of which 127 is added, too. */
static uint32_t add_pairs(uint32_t sum, uint32_t word, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count && k < 4; k += 2) {
        const uint32_t half = word >> 8 * k;
        const int32_t second = low_byte(half);
        const int32_t first = low_byte((half - (uint32_t)second) >> 8);
        sum += 256u * (uint32_t)(first * x[k]) + 127u * (uint32_t)second;
        sum += k + 1 < count ? 256u * (uint32_t)(second * x[k + 1]) : 0u;
    }
    return sum;
}

/* The same in the form that a block has. */
static uint32_t add_four(int32_t form, uint32_t sum, uint32_t word, const int8_t *x, int32_t count)
{
    return (form & 1) == 0 ? add_pairs(sum, word, x, count) : add_word(sum, word, x, count);
}

/* The sums of four filters over the input. Returns the next word. */
static const int32_t *filter_sums(uint32_t sums[BLOCK], const int32_t *from, const int8_t *x, const kibi_svdf_s8_blocks_params *p)
{
    const int32_t whole = p->depth - p->depth % 4;
    int32_t form;
    for (int32_t o = 0; o < BLOCK; ++o) {
        sums[o] = (uint32_t)*from++;
    }
    form = *from++;
    for (int32_t o = 0; whole < p->depth && o < BLOCK; ++o) {
        sums[o] = add_four(form, sums[o], (uint32_t)*from++, x + whole, p->depth - whole);
    }
    for (int32_t k = 0; k < whole; k += 4) {
        for (int32_t o = 0; o < BLOCK; ++o) {
            sums[o] = add_four(form, sums[o], (uint32_t)*from++, x + k, 4);
        }
    }
    return from;
}

/* The sum of what a filter keeps, its newest result among it. from: the weights of all but the last eight, the word that the sum starts
 * from, the last two words of weights. Returns the next word. */
static const int32_t *kept_sum(uint32_t *sum, const int32_t *from, const int8_t *state, int32_t memory)
{
    const int32_t first = memory - 8;
    *sum = (uint32_t)from[first / 4];
    for (int32_t k = 0; k < memory; k += 4) {
        *sum = add_word(*sum, (uint32_t)from[k / 4 + (k < first ? 0 : 1)], state + k, 4);
    }
    return from + memory / 4 + 1;
}

void kibi_svdf_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_svdf_s8_blocks_params *const p = params;
    const int8_t *x = rows[0];
    int8_t *state = (int8_t *)states[0];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        const int32_t *from = KIBI_AT(int32_t, p, weights);
        for (int32_t unit = 0; unit < p->units; unit += BLOCK) {
            uint32_t sums[BLOCK];
            from = filter_sums(sums, from, x, p);
            for (int32_t o = 0; o < BLOCK; ++o) {
                uint32_t sum;
                (void)memmove(state, state + 1, (size_t)p->memory - 1u);
                state[p->memory - 1] = (int8_t)(result_of(sums[o], p) + p->state_zero_point);
                from = kept_sum(&sum, from, state, p->memory);
                *output++ = (int8_t)output_of(sum, p);
                state += p->memory;
            }
        }
        x += p->depth;
    }
}
