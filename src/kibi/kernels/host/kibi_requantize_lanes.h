/* Sixteen accumulators at once as 8-bit outputs, without branches, so that compilers make vectors of them. */
#ifndef KIBI_REQUANTIZE_LANES_H
#define KIBI_REQUANTIZE_LANES_H

#include <string.h>

#include "kibi_lanes.h"
#include "kibi_requantize.h"

/* How sums become outputs; shifts apart: the left one of the sum, the right one of the product. Arrays [channels]. */
typedef struct {
    const int32_t *multiplier;
    const int32_t *left;
    const int32_t *right;
    int32_t zero_point;
    int32_t low;
    int32_t high;
} kibi_scaling;

/* The outputs of sixteen neighbouring channels, of which `count` are written where they are fewer.
 * channel: the first of them. */
static inline void kibi_requantize_lanes(int8_t *output, const int32_t sums[KIBI_BLOCK], const kibi_scaling *scaling,
                                         int32_t channel, int32_t count)
{
    const int32_t *const multiplier = scaling->multiplier + channel;
    const int32_t *const left = scaling->left + channel;
    const int32_t *const right = scaling->right + channel;
    int8_t block[KIBI_BLOCK];
    for (int32_t i = 0; i < KIBI_BLOCK; ++i) {
        const int32_t high = kibi_multiply_high((int32_t)((uint32_t)sums[i] << left[i]), multiplier[i]);
        const int32_t moved = kibi_wrapping_add(kibi_divide_by_power(high, right[i]), scaling->zero_point);
        block[i] = (int8_t)kibi_clamp(moved, scaling->low, scaling->high);
    }
    memcpy(output, block, count < KIBI_BLOCK ? (size_t)count : KIBI_BLOCK);
}

#endif
