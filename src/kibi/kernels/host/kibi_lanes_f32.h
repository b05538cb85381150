/* Sums of products of floats, a channel in each lane: each product and each sum is rounded by itself, in every lane. */
#ifndef KIBI_LANES_F32_H
#define KIBI_LANES_F32_H

#include "kibi_float.h"
#include "kibi_lanes.h"

/* kibi_floats: KIBI_LANES of them; one where vectors of 32-bit Arm would take subnormal numbers for zeros. */
#if defined(__GNUC__) && KIBI_LANES > 1 && !defined(__arm__)
typedef float kibi_floats __attribute__((vector_size(4 * KIBI_LANES)));
#define KIBI_FLOAT_VECTORS KIBI_VECTORS
#else
typedef float kibi_floats;
#define KIBI_FLOAT_VECTORS KIBI_BLOCK
#endif
#define KIBI_FLOAT_LANES (KIBI_BLOCK / KIBI_FLOAT_VECTORS)

/* Elements of columns that kernels copy. */
#define KIBI_COPIED_FLOATS 16384

/* Copies some columns of a row from `start` on. Those outside the input, or all where there is no row, are zeros, which change no
 * sum: weights are finite, and sums begin with 0, so that none of them is ever -0. */
static inline void kibi_copy_columns_f32(float *to, const float *row, int32_t start, int32_t columns, int32_t width,
                                         int32_t depth)
{
    const int32_t before = row == NULL || -start > columns ? columns : start < 0 ? -start : 0;
    const int32_t left = width - (start + before);
    const int32_t inside = left <= 0 ? 0 : left < columns - before ? left : columns - before;
    memset(to, 0, (size_t)(before * depth) * sizeof *to);
    to += before * depth;
    if (inside > 0) {
        memcpy(to, row + (start + before) * depth, (size_t)(inside * depth) * sizeof *to);
    }
    to += inside * depth;
    memset(to, 0, (size_t)((columns - before - inside) * depth) * sizeof *to);
}

/* [KIBI_FLOAT_LANES], any alignment. */
static inline kibi_floats kibi_load_floats(const float *from)
{
    kibi_floats found;
    memcpy(&found, from, sizeof found);
    return found;
}

/* The products of a vector and of a number in memory. Compilers load a number once for several vectors, which takes a multiplier's
 * or an adder's turn on some processors; as a part of the multiplication it takes none. */
static KIBI_INLINE kibi_floats kibi_times(kibi_floats weights, const float *number)
{
#if defined(__AVX512F__) && defined(__GNUC__) && KIBI_LANES == 16
    kibi_floats products;
    __asm__("vmulps %2%{1to16%}, %1, %0" : "=v"(products) : "v"(weights), "m"(*number));
    return products;
#else
    return weights * *number;
#endif
}

/* Writes the first `count` elements of a block. */
static inline void kibi_store_some_floats(float *output, const float *block, int32_t count)
{
#if defined(__AVX512F__) && KIBI_LANES == 16
    _mm512_mask_storeu_ps(output, (__mmask16)((1u << count) - 1u), _mm512_loadu_ps(block));
#else
    memcpy(output, block, (size_t)count * sizeof *block);
#endif
}

/* A block's sums plus biases, clamped. */
static KIBI_INLINE void kibi_finish_block(float *output, const kibi_floats *sums, const float *bias, float low, float high)
{
    float each[KIBI_BLOCK];
    memcpy(each, sums, sizeof each);
    for (int32_t i = 0; i < KIBI_BLOCK; ++i) {
        output[i] = kibi_clamp_f32(each[i] + bias[i], low, high);
    }
}

/* The outputs of a block of channels of some pixels, whose number the compiler knows; `count` of each pixel where they are fewer.
 * output: of the first pixel; those of the next one are `output_step` elements on.
 * sums: of the first pixel; those of the next one are `sums_step` vectors on. */
static KIBI_INLINE void kibi_finish_floats(float *output, int32_t output_step, const kibi_floats *sums, int32_t sums_step,
                                           int32_t pixels, const float *bias, float low, float high, int32_t count)
{
    if (count >= KIBI_BLOCK) {
        KIBI_UNROLL
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            kibi_finish_block(output + pixel * output_step, sums + pixel * sums_step, bias, low, high);
        }
    } else {
        KIBI_UNROLL
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            float each[KIBI_BLOCK];
            kibi_finish_block(each, sums + pixel * sums_step, bias, low, high);
            kibi_store_some_floats(output + pixel * output_step, each, count);
        }
    }
}

#endif
