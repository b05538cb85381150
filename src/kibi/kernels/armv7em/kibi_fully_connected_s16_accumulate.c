/* FULLY_CONNECTED, int16, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include <string.h>

#include "kibi_add_products_s16.h"
#include "kibi_requantize_s16.h"

#ifndef KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS
#define KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS 1
#endif

#if KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS
enum {
    FOUR = 4,
    MOST_ELEMENTS = 508 /* whole fours; the sum of so many products of 23 bits fits 32 bits */
};
#endif

/* Adds the products of a row's elements from `first` on to the sums of some channels. weights: of the first channel and the row. */
static KIBI_NOINLINE void add_single(char *sums, int32_t channels, const int8_t *weights, const int16_t *x, int32_t first,
                                     const kibi_fully_connected_s16_accumulate_params *p)
{
    for (int32_t o = 0; o < channels && first < p->piece; ++o) {
        int64_t sum;
        (void)memcpy(&sum, sums, sizeof sum);
        sum = kibi_dot_s16(sum, weights + first, x + first, p->piece - first);
        (void)memcpy(sums, &sum, sizeof sum);
        sums += sizeof sum;
        weights += p->piece * p->pieces;
    }
}

/* Adds the products of a row. Scratch is aligned to 4 where 64-bit numbers are to 8. */
static void add_row(char *sums, const int8_t *weights, const int16_t *x, const kibi_fully_connected_s16_accumulate_params *p)
{
    int32_t o = 0;
#if KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS
    const int32_t fours = p->piece & -FOUR;
    kibi_products_s16 task;
    task.depth = p->piece * p->pieces;
    for (; o + FOUR <= p->output_channels; o += FOUR) {
        int32_t most;
        for (int32_t done = 0; done < fours; done += most) {
            most = fours - done < MOST_ELEMENTS ? fours - done : (int32_t)MOST_ELEMENTS;
            task.weights = weights + done;
            task.elements = x + done;
            task.end = task.elements + most;
            kibi_add_products_s16(sums, &task);
        }
        add_single(sums, FOUR, weights, x, fours, p);
        sums += FOUR * sizeof(int64_t);
        weights += FOUR * task.depth;
    }
#endif
    add_single(sums, p->output_channels - o, weights, x, 0, p);
}

static void finish(int16_t *output, const char *sums, const kibi_fully_connected_s16_accumulate_params *p)
{
    for (int32_t i = 0; i < p->vectors; ++i) {
        for (int32_t o = 0; o < p->output_channels; ++o) {
            int64_t sum;
            (void)memcpy(&sum, sums, sizeof sum);
            sums += sizeof sum;
            *output++ = kibi_requantize_s16(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o],
                                            p->is_wide, p->output_zero_point, p->activation_min, p->activation_max);
        }
    }
}

void kibi_fully_connected_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                         const kibi_fully_connected_s16_accumulate_params *params, void *scratch,
                                         int32_t step)
{
    const kibi_fully_connected_s16_accumulate_params *const p = params;
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    char *const sums = (char *)scratch + (size_t)(vector * p->output_channels) * sizeof(int64_t);
    KIBI_ASSERT(scratch != NULL && vector >= 0 && vector < p->vectors);
    for (int32_t o = 0; o < p->output_channels && piece == 0; ++o) {
        const int64_t bias = KIBI_AT(int64_t, p, bias)[o];
        (void)memcpy(sums + (size_t)o * sizeof bias, &bias, sizeof bias);
    }
    add_row(sums, KIBI_AT(int8_t, p, filter) + piece * p->piece, rows[0], p);
    if (step == p->vectors * p->pieces - 1) {
        finish(output, (const char *)scratch, p);
    }
}
