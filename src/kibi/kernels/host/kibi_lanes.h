/* Sums of products of bytes, a channel in each lane: with AVX-512 VNNI, AVX-VNNI, AVX2, SSE2, NEON or SIMD128 of
 * WebAssembly; elsewhere one by one. */
#ifndef KIBI_LANES_H
#define KIBI_LANES_H

#include "kibi.h"

#include <string.h>

/* Channels whose weights are packed together; whatever the machine, so that packed weights fit them all. */
#define KIBI_BLOCK 16

/* Elements of a channel that are multiplied at once: packed weights have so many of each channel side by side. */
#define KIBI_QUAD 4

/* What is added to elements of the input, so that they are bytes without sign; packed biases account for it. */
#define KIBI_OFFSET 128

/* For functions that are made anew for each constant that they are given. */
#if defined(__GNUC__)
#define KIBI_INLINE inline __attribute__((always_inline))
#else
#define KIBI_INLINE inline
#endif

/* `restrict`, which C++ does not know. */
#if defined(__GNUC__)
#define KIBI_RESTRICT __restrict
#else
#define KIBI_RESTRICT
#endif

/* Before loops over lanes and pixels, whose counts the compiler knows: sums stay in registers. */
#if defined(__GNUC__)
#define KIBI_UNROLL _Pragma("GCC unroll 32")
#else
#define KIBI_UNROLL
#endif

/* KIBI_LANES: how many of them are computed at once; it divides KIBI_BLOCK.
 * KIBI_MOST_PIXELS, KIBI_MOST_BLOCKS: pixels, and blocks of channels of each, whose sums fit the registers.
 * kibi_lanes: a 32-bit sum for each lane. kibi_quads: four bytes for each.
 * kibi_load_lanes: [KIBI_LANES], any alignment.
 * kibi_load_quads: [KIBI_LANES][4], any alignment.
 * kibi_repeat_quad: the same four bytes for each lane.
 * kibi_add_dots: adds to each lane's sum the products of its bytes x, without sign, and w, with sign; sums wrap.
 * Where KIBI_HAS_SCALE is defined:
 * kibi_load_factors: what kibi_scale needs of multipliers, and of shifts to the left and to the right: [KIBI_LANES].
 * kibi_scale: each lane's sum, shifted to the left, multiplied, shifted to the right; it is rounded twice.
 * kibi_store_block: sums [KIBI_BLOCK] plus the zero point, clamped, as bytes; `count` of them where they are fewer. */
#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#if defined(__GNUC__) && !defined(__clang__)
/* GCC 12 warns of its own header where that is C++. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

#define KIBI_LANES 16
#define KIBI_MOST_PIXELS 8
#define KIBI_MOST_BLOCKS 2
#define KIBI_HAS_SCALE
typedef __m512i kibi_lanes;
typedef __m512i kibi_quads;

static inline kibi_lanes kibi_load_lanes(const int32_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline kibi_quads kibi_load_quads(const void *from)
{
    return _mm512_loadu_si512(from);
}

static inline kibi_quads kibi_repeat_quad(const uint8_t *four)
{
    int32_t quad;
    memcpy(&quad, four, sizeof quad);
    return _mm512_set1_epi32(quad);
}

static inline kibi_lanes kibi_add_dots(kibi_lanes sums, kibi_quads x, kibi_quads w)
{
    return _mm512_dpbusd_epi32(sums, x, w);
}

typedef struct {
    __m512i even; /* multipliers */
    __m512i odd;  /* the same, moved to even lanes */
    __m512i left;
    __m512i less;        /* right, less 1 */
    __mmask16 is_rounded; /* where right is above 0 */
} kibi_factors;

static inline kibi_factors kibi_load_factors(const int32_t *multiplier, const int32_t *left, const int32_t *right)
{
    const __m512i even = _mm512_loadu_si512(multiplier);
    const __m512i shifts = _mm512_loadu_si512(right);
    const kibi_factors factors = {even, _mm512_srli_epi64(even, 32), _mm512_loadu_si512(left),
                                  _mm512_sub_epi32(shifts, _mm512_set1_epi32(1)), _mm512_test_epi32_mask(shifts, shifts)};
    return factors;
}

static inline kibi_lanes kibi_scale(kibi_lanes sums, const kibi_factors *factors)
{
    const __mmask16 is_rounded = factors->is_rounded;
    const __m512i half = _mm512_set1_epi64((int64_t)1 << 30);
    const __m512i raised = _mm512_sllv_epi32(sums, factors->left);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(raised, factors->even), half);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(raised, 32), factors->odd), half);
    const __m512i high = _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 31), 0xAAAA, _mm512_slli_epi64(odd, 1));
    const __m512i lowered = _mm512_add_epi32(high, _mm512_srai_epi32(high, 31));
    const __m512i doubled = _mm512_add_epi32(_mm512_srav_epi32(lowered, factors->less), _mm512_set1_epi32(1));
    return _mm512_mask_srai_epi32(high, is_rounded, doubled, 1);
}

static inline void kibi_store_block(int8_t *output, const kibi_lanes *sums, int32_t zero_point, int32_t low, int32_t high,
                                    int32_t count)
{
    const __m512i moved = _mm512_add_epi32(sums[0], _mm512_set1_epi32(zero_point));
    const __m128i raised = _mm_max_epi8(_mm512_cvtsepi32_epi8(moved), _mm_set1_epi8((char)low));
    const __m128i bytes = _mm_min_epi8(raised, _mm_set1_epi8((char)high));
    if (count >= KIBI_BLOCK) {
        _mm_storeu_si128((__m128i *)(void *)output, bytes);
    } else {
        _mm_mask_storeu_epi8(output, (__mmask16)((1u << count) - 1u), bytes);
    }
}

#elif defined(__AVX2__)
#include <immintrin.h>

#define KIBI_LANES 8
#define KIBI_HAS_SCALE
typedef __m256i kibi_lanes;
typedef __m256i kibi_quads;

static inline kibi_lanes kibi_load_lanes(const int32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline kibi_quads kibi_load_quads(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

static inline kibi_quads kibi_repeat_quad(const uint8_t *four)
{
    int32_t quad;
    memcpy(&quad, four, sizeof quad);
    return _mm256_set1_epi32(quad);
}

#if defined(__AVXVNNI__)
#define KIBI_MOST_PIXELS 5
#define KIBI_MOST_BLOCKS 1

static inline kibi_lanes kibi_add_dots(kibi_lanes sums, kibi_quads x, kibi_quads w)
{
    return _mm256_dpbusd_avx_epi32(sums, x, w);
}
#else
#define KIBI_MOST_PIXELS 4
#define KIBI_MOST_BLOCKS 1

/* Bytes 0 and 2 of each lane as 16 bits, then 1 and 3: sums of two products of 16 bits cannot saturate. */
static inline kibi_lanes kibi_add_dots(kibi_lanes sums, kibi_quads x, kibi_quads w)
{
    const __m256i even = _mm256_and_si256(x, _mm256_set1_epi16(0xFF));
    const __m256i odd = _mm256_srli_epi16(x, 8);
    const __m256i first = _mm256_madd_epi16(even, _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    return _mm256_add_epi32(_mm256_add_epi32(sums, first), _mm256_madd_epi16(odd, _mm256_srai_epi16(w, 8)));
}
#endif

typedef struct {
    __m256i even; /* multipliers */
    __m256i odd;  /* the same, moved to even lanes */
    __m256i left;
    __m256i less;       /* right, less 1 */
    __m256i is_rounded; /* -1 where right is above 0, else 0 */
} kibi_factors;

static inline kibi_factors kibi_load_factors(const int32_t *multiplier, const int32_t *left, const int32_t *right)
{
    const __m256i even = kibi_load_lanes(multiplier);
    const __m256i shifts = kibi_load_lanes(right);
    const kibi_factors factors = {even, _mm256_srli_epi64(even, 32), kibi_load_lanes(left),
                                  _mm256_sub_epi32(shifts, _mm256_set1_epi32(1)),
                                  _mm256_cmpgt_epi32(shifts, _mm256_setzero_si256())};
    return factors;
}

static inline kibi_lanes kibi_scale(kibi_lanes sums, const kibi_factors *factors)
{
    const __m256i half = _mm256_set1_epi64x((int64_t)1 << 30);
    const __m256i raised = _mm256_sllv_epi32(sums, factors->left);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(raised, factors->even), half);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(raised, 32), factors->odd), half);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
    const __m256i lowered = _mm256_add_epi32(high, _mm256_srai_epi32(high, 31));
    const __m256i doubled = _mm256_add_epi32(_mm256_srav_epi32(lowered, factors->less), _mm256_set1_epi32(1));
    return _mm256_blendv_epi8(high, _mm256_srai_epi32(doubled, 1), factors->is_rounded);
}

static inline void kibi_store_block(int8_t *output, const kibi_lanes *sums, int32_t zero_point, int32_t low, int32_t high,
                                    int32_t count)
{
    const __m256i moved = _mm256_set1_epi32(zero_point);
    const __m256i mixed =
        _mm256_packs_epi32(_mm256_add_epi32(sums[0], moved), _mm256_add_epi32(sums[1], moved));
    const __m256i words = _mm256_permute4x64_epi64(mixed, 0xD8);
    const __m128i packed = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    const __m128i raised = _mm_max_epi8(packed, _mm_set1_epi8((char)low));
    const __m128i bytes = _mm_min_epi8(raised, _mm_set1_epi8((char)high));
    if (count >= KIBI_BLOCK) {
        _mm_storeu_si128((__m128i *)(void *)output, bytes);
    } else {
        memcpy(output, &bytes, (size_t)count);
    }
}

#elif defined(__SSE2__)
#include <emmintrin.h>

#define KIBI_LANES 4
#define KIBI_MOST_PIXELS 2
#define KIBI_MOST_BLOCKS 1
typedef __m128i kibi_lanes;
typedef __m128i kibi_quads;

static inline kibi_lanes kibi_load_lanes(const int32_t *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline kibi_quads kibi_load_quads(const void *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

static inline kibi_quads kibi_repeat_quad(const uint8_t *four)
{
    int32_t quad;
    memcpy(&quad, four, sizeof quad);
    return _mm_set1_epi32(quad);
}

static inline kibi_lanes kibi_add_dots(kibi_lanes sums, kibi_quads x, kibi_quads w)
{
    const __m128i even = _mm_and_si128(x, _mm_set1_epi16(0xFF));
    const __m128i odd = _mm_srli_epi16(x, 8);
    const __m128i first = _mm_madd_epi16(even, _mm_srai_epi16(_mm_slli_epi16(w, 8), 8));
    return _mm_add_epi32(_mm_add_epi32(sums, first), _mm_madd_epi16(odd, _mm_srai_epi16(w, 8)));
}

#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>

#define KIBI_LANES 4
#define KIBI_MOST_PIXELS 2 /* runtimes on x86-64 have 16 registers */
#define KIBI_MOST_BLOCKS 1
typedef v128_t kibi_lanes;
typedef v128_t kibi_quads;

static inline kibi_lanes kibi_load_lanes(const int32_t *from)
{
    return wasm_v128_load(from);
}

static inline kibi_quads kibi_load_quads(const void *from)
{
    return wasm_v128_load(from);
}

static inline kibi_quads kibi_repeat_quad(const uint8_t *four)
{
    return wasm_v128_load32_splat(four);
}

static inline kibi_lanes kibi_add_dots(kibi_lanes sums, kibi_quads x, kibi_quads w)
{
    const v128_t even = wasm_v128_and(x, wasm_i16x8_splat(0xFF));
    const v128_t odd = wasm_u16x8_shr(x, 8);
    const v128_t first = wasm_i32x4_dot_i16x8(even, wasm_i16x8_shr(wasm_i16x8_shl(w, 8), 8));
    return wasm_i32x4_add(wasm_i32x4_add(sums, first), wasm_i32x4_dot_i16x8(odd, wasm_i16x8_shr(w, 8)));
}

#elif defined(__ARM_NEON)
#include <arm_neon.h>

#define KIBI_LANES 4
#if defined(__aarch64__)
#define KIBI_MOST_PIXELS 4
#else
#define KIBI_MOST_PIXELS 2 /* half as many registers */
#endif
#define KIBI_MOST_BLOCKS 1
#define KIBI_HAS_SCALE
typedef int32x4_t kibi_lanes;
typedef uint8x16_t kibi_quads;

static inline kibi_lanes kibi_load_lanes(const int32_t *from)
{
    return vld1q_s32(from);
}

static inline kibi_quads kibi_load_quads(const void *from)
{
    return vld1q_u8((const uint8_t *)from);
}

static inline kibi_quads kibi_repeat_quad(const uint8_t *four)
{
    uint32_t quad;
    memcpy(&quad, four, sizeof quad);
    return vreinterpretq_u8_u32(vdupq_n_u32(quad));
}

static inline kibi_lanes kibi_add_dots(kibi_lanes sums, kibi_quads x, kibi_quads w)
{
    const int8x16_t weights = vreinterpretq_s8_u8(w);
#if defined(__ARM_FEATURE_MATMUL_INT8)
    return vusdotq_s32(sums, x, weights);
#elif defined(__ARM_FEATURE_DOTPROD)
    /* Elements less 128 fit bytes with sign; 128 times the weights are the same for all pixels. */
    const int8x16_t half = vdupq_n_s8(64);
    const int32x4_t offset = vdotq_s32(vdotq_s32(vdupq_n_s32(0), half, weights), half, weights);
    const int8x16_t centred = vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(0x80)));
    return vdotq_s32(vaddq_s32(sums, offset), centred, weights);
#else
    /* A product of a byte without sign and one with sign fits 16 bits. */
    const int16x8_t low = vmulq_s16(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x))), vmovl_s8(vget_low_s8(weights)));
    const int16x8_t high = vmulq_s16(vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(x))), vmovl_s8(vget_high_s8(weights)));
    const int32x4_t first = vpaddlq_s16(low);
    const int32x4_t second = vpaddlq_s16(high);
#if defined(__aarch64__)
    return vaddq_s32(sums, vpaddq_s32(first, second));
#else
    return vaddq_s32(sums, vcombine_s32(vpadd_s32(vget_low_s32(first), vget_high_s32(first)),
                                        vpadd_s32(vget_low_s32(second), vget_high_s32(second))));
#endif
#endif
}

typedef struct {
    int32x4_t multiplier;
    int32x4_t left;
    int32x4_t shift; /* -right */
} kibi_factors;

static inline kibi_factors kibi_load_factors(const int32_t *multiplier, const int32_t *left, const int32_t *right)
{
    const kibi_factors factors = {vld1q_s32(multiplier), vld1q_s32(left), vnegq_s32(vld1q_s32(right))};
    return factors;
}

static inline kibi_lanes kibi_scale(kibi_lanes sums, const kibi_factors *factors)
{
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(sums, factors->left), factors->multiplier);
    /* -1 where both the product and the shift are below 0, so that halves are rounded away from zero. */
    const int32x4_t lowers = vshrq_n_s32(vandq_s32(high, factors->shift), 31);
    return vrshlq_s32(vaddq_s32(high, lowers), factors->shift);
}

static inline void kibi_store_block(int8_t *output, const kibi_lanes *sums, int32_t zero_point, int32_t low, int32_t high,
                                    int32_t count)
{
    const int32x4_t moved = vdupq_n_s32(zero_point);
    const int16x8_t first = vcombine_s16(vqmovn_s32(vaddq_s32(sums[0], moved)), vqmovn_s32(vaddq_s32(sums[1], moved)));
    const int16x8_t second = vcombine_s16(vqmovn_s32(vaddq_s32(sums[2], moved)), vqmovn_s32(vaddq_s32(sums[3], moved)));
    const int8x16_t packed = vcombine_s8(vqmovn_s16(first), vqmovn_s16(second));
    const int8x16_t bytes = vminq_s8(vmaxq_s8(packed, vdupq_n_s8((int8_t)low)), vdupq_n_s8((int8_t)high));
    if (count >= KIBI_BLOCK) {
        vst1q_s8(output, bytes);
    } else {
        int8_t block[KIBI_BLOCK];
        vst1q_s8(block, bytes);
        memcpy(output, block, (size_t)count);
    }
}

#else

#define KIBI_LANES 1
#define KIBI_MOST_PIXELS 1
#define KIBI_MOST_BLOCKS 1
typedef uint32_t kibi_lanes;
typedef const uint8_t *kibi_quads;

static inline kibi_lanes kibi_load_lanes(const int32_t *from)
{
    return (uint32_t)*from;
}

static inline kibi_quads kibi_load_quads(const void *from)
{
    return (const uint8_t *)from;
}

static inline kibi_quads kibi_repeat_quad(const uint8_t *four)
{
    return four;
}

static inline kibi_lanes kibi_add_dots(kibi_lanes sums, kibi_quads x, kibi_quads w)
{
    for (int32_t i = 0; i < KIBI_QUAD; ++i) {
        sums += (uint32_t)(x[i] * (int8_t)w[i]);
    }
    return sums;
}

#endif

/* Vectors of a block. */
#define KIBI_VECTORS (KIBI_BLOCK / KIBI_LANES)

/* Calls a function that takes a number of pixels up to KIBI_MOST_PIXELS as its third argument, with a number that the compiler
 * knows. */
#define KIBI_PIXELS_CASE(number, call, output, params, ...) \
    case number:                                            \
        call(output, params, number, __VA_ARGS__);          \
        break;
#if KIBI_MOST_PIXELS > 6
#define KIBI_FROM_7(...) KIBI_PIXELS_CASE(8, __VA_ARGS__) KIBI_PIXELS_CASE(7, __VA_ARGS__)
#else
#define KIBI_FROM_7(...)
#endif
#if KIBI_MOST_PIXELS > 5
#define KIBI_FROM_6(...) KIBI_FROM_7(__VA_ARGS__) KIBI_PIXELS_CASE(6, __VA_ARGS__)
#else
#define KIBI_FROM_6(...)
#endif
#if KIBI_MOST_PIXELS > 4
#define KIBI_FROM_5(...) KIBI_FROM_6(__VA_ARGS__) KIBI_PIXELS_CASE(5, __VA_ARGS__)
#else
#define KIBI_FROM_5(...)
#endif
#if KIBI_MOST_PIXELS > 2
#define KIBI_FROM_3(...) KIBI_FROM_5(__VA_ARGS__) KIBI_PIXELS_CASE(4, __VA_ARGS__) KIBI_PIXELS_CASE(3, __VA_ARGS__)
#else
#define KIBI_FROM_3(...)
#endif
#if KIBI_MOST_PIXELS > 1
#define KIBI_FROM_2(...) KIBI_FROM_3(__VA_ARGS__) KIBI_PIXELS_CASE(2, __VA_ARGS__)
#else
#define KIBI_FROM_2(...)
#endif
#define KIBI_WITH_PIXELS(pixels, call, output, params, ...)     \
    switch (pixels) {                                           \
        KIBI_FROM_2(call, output, params, __VA_ARGS__)          \
    default:                                                    \
        call(output, params, 1, __VA_ARGS__);                   \
        break;                                                  \
    }

/* How many of a row's pixels are computed at once, at most. Six are faster than eight where no pixel is left over. */
static inline int32_t kibi_most_pixels(int32_t count)
{
    return KIBI_MOST_PIXELS > 6 && count % 6 == 0 ? 6 : KIBI_MOST_PIXELS;
}

/* Of so many pixels, those to compute next: they are shared out evenly. */
static inline int32_t kibi_next_pixels(int32_t left, int32_t most)
{
    const int32_t parts = (left + most - 1) / most;
    return (left + parts - 1) / parts;
}

/* Elements of the input as the sums of products take them. */
static inline void kibi_offset_bytes(uint8_t *to, const int8_t *from, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        to[i] = (uint8_t)(from[i] + KIBI_OFFSET);
    }
}

#endif
