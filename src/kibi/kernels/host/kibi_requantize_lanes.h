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
    const float *half;
    int32_t zero_point;
    int32_t low;
    int32_t high;
} kibi_scaling;

#if KIBI_LANES == 16
/* Of each channel: the upper and the lower part of multiplier * 2**(-31 - right), both exact. */
typedef struct {
    __m512 upper;
    __m512 lower;
    __m512i half;
} kibi_products;

static inline kibi_products kibi_load_products(const int32_t *multiplier, const int32_t *right, const float *half)
{
    const __m512i lowest = _mm512_set1_epi32(127);
    const __m512i multipliers = _mm512_loadu_si512(multiplier);
    const __m512i exponents = _mm512_sub_epi32(_mm512_set1_epi32(127 - 31), _mm512_loadu_si512(right));
    const __m512 power = _mm512_castsi512_ps(_mm512_slli_epi32(exponents, 23));
    const __m512 upper = _mm512_cvtepi32_ps(_mm512_andnot_si512(lowest, multipliers));
    const __m512 lower = _mm512_cvtepi32_ps(_mm512_and_si512(lowest, multipliers));
    const kibi_products products = {_mm512_mul_ps(upper, power), _mm512_mul_ps(lower, power), _mm512_loadu_si512(half)};
    return products;
}

/* What is left without fraction of the product plus its half: rounding to zero never lifts a sum to the next integer. */
static inline kibi_lanes kibi_scale_once(kibi_lanes sums, const kibi_products *products)
{
    const __m512i sign = _mm512_and_si512(sums, _mm512_set1_epi32(INT32_MIN));
    const __m512 half = _mm512_castsi512_ps(_mm512_or_si512(sign, products->half));
    const __m512 numbers = _mm512_cvtepi32_ps(sums);
    const __m512 rest = _mm512_fmadd_ps(numbers, products->lower, half);
    return _mm512_cvttps_epi32(_mm512_fmadd_round_ps(numbers, products->upper, rest, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
}

/* Four blocks plus the zero point, clamped, as bytes: one after the other. */
static inline __m512i kibi_pack_blocks(const kibi_lanes *blocks, const kibi_scaling *scaling)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i zero_point = _mm512_set1_epi16((short)scaling->zero_point);
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(blocks[0], blocks[1]), zero_point);
    const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(blocks[2], blocks[3]), zero_point);
    const __m512i raised = _mm512_max_epi8(_mm512_packs_epi16(first, second), _mm512_set1_epi8((char)scaling->low));
    return _mm512_permutexvar_epi32(order, _mm512_min_epi8(raised, _mm512_set1_epi8((char)scaling->high)));
}

/* As the function below, for blocks of channels with halves. */
static KIBI_INLINE void kibi_requantize_once(int8_t *output, int32_t output_step, const kibi_lanes *sums, int32_t sums_step,
                                             int32_t pixels, const kibi_scaling *scaling, int32_t channel, int32_t count)
{
    const kibi_products products =
        kibi_load_products(scaling->multiplier + channel, scaling->right + channel, scaling->half + channel);
    KIBI_UNROLL
    for (int32_t first = 0; first < pixels; first += 4) {
        const int32_t some = pixels - first < 4 ? pixels - first : 4;
        int8_t *const to = output + first * output_step;
        kibi_lanes scaled[4];
        int8_t each[4 * KIBI_BLOCK];
        KIBI_UNROLL
        for (int32_t i = 0; i < 4; ++i) {
            scaled[i] = i < some ? kibi_scale_once(sums[(first + i) * sums_step], &products) : _mm512_setzero_si512();
        }
        const __m512i bytes = kibi_pack_blocks(scaled, scaling);
        if (count < KIBI_BLOCK) {
            _mm512_storeu_si512(each, bytes);
            for (int32_t i = 0; i < some; ++i) {
                memcpy(to + i * output_step, each + i * KIBI_BLOCK, (size_t)count);
            }
        } else {
            _mm_storeu_si128((__m128i *)(void *)to, _mm512_castsi512_si128(bytes));
            if (some > 1) {
                _mm_storeu_si128((__m128i *)(void *)(to + output_step), _mm512_extracti32x4_epi32(bytes, 1));
            }
            if (some > 2) {
                _mm_storeu_si128((__m128i *)(void *)(to + 2 * output_step), _mm512_extracti32x4_epi32(bytes, 2));
            }
            if (some > 3) {
                _mm_storeu_si128((__m128i *)(void *)(to + 3 * output_step), _mm512_extracti32x4_epi32(bytes, 3));
            }
        }
    }
}
#endif

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
#if KIBI_LANES == 16
    if (scaling->half[channel] > 0.0f) {
        kibi_requantize_once(output, output_step, sums, sums_step, pixels, scaling, channel, count);
        return;
    }
#endif
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
