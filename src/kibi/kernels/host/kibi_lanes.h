/* Sums of products of 16-bit pairs, a channel in each lane: by AVX-512, AVX2, SSE2 or NEON; elsewhere one by one. */
#ifndef KIBI_LANES_H
#define KIBI_LANES_H

#include "kibi.h"

#include <string.h>

/* Channels whose weights are packed together; whatever the machine, so that packed weights fit them all. */
#define KIBI_BLOCK 16

/* For functions that are made anew for each constant that they are given. */
#if defined(__GNUC__)
#define KIBI_INLINE inline __attribute__((always_inline))
#else
#define KIBI_INLINE inline
#endif

/* In front of loops over lanes and pixels, whose counts the compiler knows: sums stay in registers. */
#if defined(__GNUC__)
#define KIBI_UNROLL _Pragma("GCC unroll 16")
#else
#define KIBI_UNROLL
#endif

/* KIBI_LANES: how many of them are computed at once; it divides KIBI_BLOCK.
 * kibi_lanes: a 32-bit sum for each. kibi_lane_pairs: a pair of weights for each. kibi_pair: two elements of the input.
 * kibi_load_weights: of weights [KIBI_LANES][2], any alignment.
 * kibi_load_pair: of two neighbouring elements, any alignment.
 * kibi_add_products: adds both products to each lane's sum; sums wrap.
 * kibi_add_own: adds to each lane's sum the product of its own x and its own w; both [KIBI_LANES], any alignment. */
#if defined(__AVX512BW__)
#include <immintrin.h>

#define KIBI_LANES 16
typedef __m512i kibi_lanes;
typedef __m512i kibi_lane_pairs;
typedef __m512i kibi_pair;

static inline kibi_lane_pairs kibi_load_weights(const int8_t *w)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)w));
}

static inline kibi_pair kibi_load_pair(const int16_t *x)
{
    int32_t both;
    memcpy(&both, x, sizeof both);
    return _mm512_set1_epi32(both);
}

static inline kibi_lanes kibi_add_products(kibi_lanes sums, kibi_lane_pairs w, kibi_pair x)
{
    return _mm512_add_epi32(sums, _mm512_madd_epi16(w, x));
}

static inline kibi_lanes kibi_add_own(kibi_lanes sums, const int8_t *x, const int8_t *w)
{
    const __m256i inputs = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x));
    const __m256i weights = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)w));
    /* Not _mm512_cvtepi16_epi32: GCC 12 warns of its own header where that is C++. */
    const __m512i products = _mm512_maskz_cvtepi16_epi32(0xFFFF, _mm256_mullo_epi16(inputs, weights));
    return _mm512_add_epi32(sums, products);
}

#elif defined(__AVX2__)
#include <immintrin.h>

#define KIBI_LANES 8
typedef __m256i kibi_lanes;
typedef __m256i kibi_lane_pairs;
typedef __m256i kibi_pair;

static inline kibi_lane_pairs kibi_load_weights(const int8_t *w)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)w));
}

static inline kibi_pair kibi_load_pair(const int16_t *x)
{
    int32_t both;
    memcpy(&both, x, sizeof both);
    return _mm256_set1_epi32(both);
}

static inline kibi_lanes kibi_add_products(kibi_lanes sums, kibi_lane_pairs w, kibi_pair x)
{
    return _mm256_add_epi32(sums, _mm256_madd_epi16(w, x));
}

static inline kibi_lanes kibi_add_own(kibi_lanes sums, const int8_t *x, const int8_t *w)
{
    const __m128i inputs = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)x));
    const __m128i weights = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)w));
    return _mm256_add_epi32(sums, _mm256_cvtepi16_epi32(_mm_mullo_epi16(inputs, weights)));
}

#elif defined(__SSE2__)
#include <emmintrin.h>

#define KIBI_LANES 4
typedef __m128i kibi_lanes;
typedef __m128i kibi_lane_pairs;
typedef __m128i kibi_pair;

static inline __m128i kibi_widen(__m128i bytes)
{
    return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
}

static inline kibi_lane_pairs kibi_load_weights(const int8_t *w)
{
    return kibi_widen(_mm_loadl_epi64((const __m128i *)(const void *)w));
}

static inline kibi_pair kibi_load_pair(const int16_t *x)
{
    int32_t both;
    memcpy(&both, x, sizeof both);
    return _mm_set1_epi32(both);
}

static inline kibi_lanes kibi_add_products(kibi_lanes sums, kibi_lane_pairs w, kibi_pair x)
{
    return _mm_add_epi32(sums, _mm_madd_epi16(w, x));
}

static inline kibi_lanes kibi_add_own(kibi_lanes sums, const int8_t *x, const int8_t *w)
{
    int32_t inputs;
    int32_t weights;
    memcpy(&inputs, x, sizeof inputs);
    memcpy(&weights, w, sizeof weights);
    const __m128i products = _mm_mullo_epi16(kibi_widen(_mm_cvtsi32_si128(inputs)), kibi_widen(_mm_cvtsi32_si128(weights)));
    return _mm_add_epi32(sums, _mm_srai_epi32(_mm_unpacklo_epi16(products, products), 16));
}

#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>

#define KIBI_LANES 4
typedef int32x4_t kibi_lanes;
typedef struct {
    int16x4_t first;
    int16x4_t second;
} kibi_lane_pairs;
typedef kibi_lane_pairs kibi_pair;

static inline kibi_lane_pairs kibi_load_weights(const int8_t *w)
{
    const int16x8_t mixed = vmovl_s8(vld1_s8(w));
    const kibi_lane_pairs pairs = {vget_low_s16(vuzp1q_s16(mixed, mixed)), vget_low_s16(vuzp2q_s16(mixed, mixed))};
    return pairs;
}

static inline kibi_pair kibi_load_pair(const int16_t *x)
{
    const kibi_pair both = {vld1_dup_s16(x), vld1_dup_s16(x + 1)};
    return both;
}

static inline kibi_lanes kibi_add_products(kibi_lanes sums, kibi_lane_pairs w, kibi_pair x)
{
    return vmlal_s16(vmlal_s16(sums, w.first, x.first), w.second, x.second);
}

static inline int16x4_t kibi_widen(const int8_t *from)
{
    int32_t four;
    memcpy(&four, from, sizeof four);
    return vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four))));
}

static inline kibi_lanes kibi_add_own(kibi_lanes sums, const int8_t *x, const int8_t *w)
{
    return vmlal_s16(sums, kibi_widen(x), kibi_widen(w));
}

#else

#define KIBI_LANES 1
typedef uint32_t kibi_lanes;
typedef struct {
    uint32_t first;
    uint32_t second;
} kibi_lane_pairs;
typedef kibi_lane_pairs kibi_pair;

static inline kibi_lane_pairs kibi_load_weights(const int8_t *w)
{
    const kibi_lane_pairs pair = {(uint32_t)w[0], (uint32_t)w[1]};
    return pair;
}

static inline kibi_pair kibi_load_pair(const int16_t *x)
{
    const kibi_pair both = {(uint32_t)x[0], (uint32_t)x[1]};
    return both;
}

static inline kibi_lanes kibi_add_products(kibi_lanes sums, kibi_lane_pairs w, kibi_pair x)
{
    return sums + w.first * x.first + w.second * x.second;
}

static inline kibi_lanes kibi_add_own(kibi_lanes sums, const int8_t *x, const int8_t *w)
{
    return sums + (uint32_t)(x[0] * w[0]);
}

#endif

#endif
