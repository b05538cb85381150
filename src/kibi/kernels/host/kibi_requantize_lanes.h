/* The sums of a block of channels as 8-bit outputs. */
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

/* The outputs of a block of channels of some pixels, whose number the compiler knows.
 * output: of the first pixel, [KIBI_BLOCK], or fewer at the end; those of the next one are `output_step` bytes on.
 * sums: of the first pixel, [KIBI_VECTORS]; those of the next one are `sums_step` vectors on.
 * channel: the first of the block.
 * count: of each pixel's outputs those that are written, where they are fewer than a block's. */
#if defined(KIBI_HAS_SCALE)
static KIBI_INLINE void kibi_requantize_lanes(int8_t *output, int32_t output_step, const kibi_lanes *sums, int32_t sums_step,
                                              int32_t pixels, const kibi_scaling *scaling, int32_t channel, int32_t count)
{
    const int32_t zero_point = scaling->zero_point;
    const int32_t low = scaling->low;
    const int32_t high = scaling->high;
    kibi_factors factors[KIBI_VECTORS];
    KIBI_UNROLL
    for (int32_t v = 0; v < KIBI_VECTORS; ++v) {
        const int32_t first = channel + v * KIBI_LANES;
        factors[v] = kibi_load_factors(scaling->multiplier + first, scaling->left + first, scaling->right + first);
    }
    KIBI_UNROLL
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        kibi_lanes scaled[KIBI_VECTORS];
        KIBI_UNROLL
        for (int32_t v = 0; v < KIBI_VECTORS; ++v) {
            scaled[v] = kibi_scale(sums[pixel * sums_step + v], &factors[v]);
        }
        kibi_store_block(output + pixel * output_step, scaled, zero_point, low, high, count);
    }
}
#else
/* Without branches, so that compilers make vectors of it. */
static inline void kibi_requantize_lanes(int8_t *output, int32_t output_step, const kibi_lanes *sums, int32_t sums_step,
                                         int32_t pixels, const kibi_scaling *scaling, int32_t channel, int32_t count)
{
    const int32_t *const multiplier = scaling->multiplier + channel;
    const int32_t *const left = scaling->left + channel;
    const int32_t *const right = scaling->right + channel;
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        uint32_t each[KIBI_BLOCK];
        int8_t block[KIBI_BLOCK];
        memcpy(each, sums + pixel * sums_step, sizeof each);
        for (int32_t i = 0; i < KIBI_BLOCK; ++i) {
            const int32_t high = kibi_multiply_high((int32_t)(each[i] << left[i]), multiplier[i]);
            const int32_t moved = kibi_wrapping_add(kibi_divide_by_power(high, right[i]), scaling->zero_point);
            block[i] = (int8_t)kibi_clamp(moved, scaling->low, scaling->high);
        }
        memcpy(output + pixel * output_step, block, count < KIBI_BLOCK ? (size_t)count : KIBI_BLOCK);
    }
}
#endif

#endif
