/* Sums of products with Golomb-Rice codes, portable. */
#include "kibi_dot_rice_s8.h"

/* The bits from the next code on: at least 25, its first one highest. */
static inline uint32_t bits_from(const uint8_t *first, uint32_t at)
{
    const uint8_t *const four = first - (at >> 3);
    const uint32_t bits = four[0] | (uint32_t)four[1] << 8 | (uint32_t)four[2] << 16 | (uint32_t)four[3] << 24;
    return bits << (at & 7u);
}

/* The zeros before the first one, at most KIBI_RICE_ZEROS. */
static inline uint32_t zeros(uint32_t bits)
{
#if defined(__ARM_FEATURE_CLZ) || (defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__)))
    return (uint32_t)__builtin_clz(KIBI_NOT_BELOW(bits, 1u << (31 - KIBI_RICE_ZEROS)));
#else
    uint32_t count = 0, left = bits | 1u << (31 - KIBI_RICE_ZEROS); /* so that it ends, whatever the bits are */
    while (left < 0x80000000u) {
        left <<= 1;
        ++count;
    }
    return count;
#endif
}

uint32_t kibi_dot_rice_s8(uint32_t start, const int8_t *x, int32_t count, kibi_rice_codes *from)
{
    const int8_t *const multiples = from->multiples;
    const uint8_t *const first_four = from->end - 4;
    const int8_t *const end = x + (count & -2);
    const uint32_t k = from->k, rest = 31u - k;
    uint32_t sum = start, at = from->at;
    while (x != end) {
        uint32_t bits, first, second;
        at = KIBI_NOT_ABOVE(at, from->last);
        bits = bits_from(first_four, at);
        first = zeros(bits);
        bits <<= first;
        sum += (((uint32_t)multiples[first] << k) + (bits >> rest)) * (uint32_t)x[0];
        bits = bits << k << 1;
        second = zeros(bits);
        bits <<= second;
        sum += (((uint32_t)multiples[second] << k) + (bits >> rest)) * (uint32_t)x[1];
        at += first + second + 2u * k + 2u;
        x += 2;
    }
    if ((count & 1) != 0) {
        uint32_t bits, first;
        at = KIBI_NOT_ABOVE(at, from->last);
        bits = bits_from(first_four, at);
        first = zeros(bits);
        sum += (((uint32_t)multiples[first] << k) + (bits << first >> rest)) * (uint32_t)x[0];
        at += first + k + 1u;
    }
    from->at = at;
    return sum;
}
