/* Sums of products of int8 in the halves of words, portable. */
#include "kibi_add_halves_s8.h"

/* Parts that only some layers need: blocks of so many pairs of pixels. */
#ifndef KIBI_ADD_HALVES_OF_1
#define KIBI_ADD_HALVES_OF_1 1
#endif
#ifndef KIBI_ADD_HALVES_OF_2
#define KIBI_ADD_HALVES_OF_2 1
#endif
#ifndef KIBI_ADD_HALVES_OF_3
#define KIBI_ADD_HALVES_OF_3 1
#endif

/* The sums of a pair of pixels for both channels, those of the first pixel with 2**16 times those of the second one, and those of the
 * last few products. */
#define LOAD(p)                                                                   \
    uint32_t b##p = bias != NULL ? (uint32_t)bias[0] : sums[2 * p + 1];           \
    uint32_t d##p = bias != NULL ? (uint32_t)bias[1] : sums[2 * PAIRS + 2 * p + 1]; \
    uint32_t a##p = (b##p << 16) + (bias != NULL ? b##p : sums[2 * p]);           \
    uint32_t c##p = (d##p << 16) + (bias != NULL ? d##p : sums[2 * PAIRS + 2 * p]); \
    uint32_t t##p;                                                                \
    uint32_t u##p;
#define STORE(p)                                    \
    sums[2 * p] = a##p - (b##p << 16);              \
    sums[2 * p + 1] = b##p;                         \
    sums[2 * PAIRS + 2 * p] = c##p - (d##p << 16);  \
    sums[2 * PAIRS + 2 * p + 1] = d##p;
#define FIRST(p, k)                    \
    {                                  \
        const uint32_t both = x[k + p]; \
        t##p = v * both;               \
        u##p = w1 * both;              \
    }
#define NEXT(p, k)                     \
    {                                  \
        const uint32_t both = x[k + p]; \
        t##p += v * both;              \
        u##p += w1 * both;             \
    }
/* The first pixel's sum may be below 0; half of what a half holds makes the second one's whole. */
#define SPLIT(p)                                       \
    a##p += t##p;                                      \
    b##p += (uint32_t)((int32_t)(t##p + half) >> 16);  \
    c##p += u##p;                                      \
    d##p += (uint32_t)((int32_t)(u##p + half) >> 16);
#define CLEAR(p) \
    t##p = 0;    \
    u##p = 0;

#define ELEMENT(k, EACH, WHAT)                              \
    {                                                       \
        const uint32_t v = (uint32_t)(int32_t)w[2 * k];     \
        const uint32_t w1 = (uint32_t)(int32_t)w[2 * k + 1]; \
        EACH(WHAT, k * PAIRS)                               \
    }

#define ADD_HALVES(EACH, EACH_AT)                                       \
    {                                                                   \
        const uint32_t half = 0x8000u;                                  \
        const int8_t *const end = w + 8 * count;                        \
        EACH(LOAD)                                                      \
        do {                                                            \
            ELEMENT(0, EACH_AT, FIRST)                                  \
            ELEMENT(1, EACH_AT, NEXT)                                   \
            if ((int32_t)flags < 0) {                                   \
                EACH(SPLIT)                                             \
                EACH(CLEAR)                                             \
            }                                                           \
            ELEMENT(2, EACH_AT, NEXT)                                   \
            ELEMENT(3, EACH_AT, NEXT)                                   \
            EACH(SPLIT)                                                 \
            flags <<= 1;                                                \
            w += 8;                                                     \
            x += 4 * PAIRS;                                             \
        } while (w != end);                                             \
        EACH(STORE)                                                     \
    }

#define PAIRS 1
#define EACH_1(F) F(0)
#define EACH_AT_1(F, k) F(0, k)
#if KIBI_ADD_HALVES_OF_1
static void of_1(uint32_t *sums, const int8_t *w, const uint32_t *x, int32_t count, uint32_t flags,
                 const int32_t *bias)
ADD_HALVES(EACH_1, EACH_AT_1)
#endif
#undef PAIRS
#define PAIRS 2
#define EACH_2(F) F(0) F(1)
#define EACH_AT_2(F, k) F(0, k) F(1, k)
#if KIBI_ADD_HALVES_OF_2
static void of_2(uint32_t *sums, const int8_t *w, const uint32_t *x, int32_t count, uint32_t flags,
                 const int32_t *bias)
ADD_HALVES(EACH_2, EACH_AT_2)
#endif
#undef PAIRS
#define PAIRS 3
#define EACH_3(F) F(0) F(1) F(2)
#define EACH_AT_3(F, k) F(0, k) F(1, k) F(2, k)
#if KIBI_ADD_HALVES_OF_3
static void of_3(uint32_t *sums, const int8_t *w, const uint32_t *x, int32_t count, uint32_t flags,
                 const int32_t *bias)
ADD_HALVES(EACH_3, EACH_AT_3)
#endif
#undef PAIRS

void kibi_add_halves_s8(uint32_t *sums, const int8_t *w, const uint32_t *x, int32_t count, uint32_t flags, int32_t pairs,
                        const int32_t *bias)
{
#if KIBI_ADD_HALVES_OF_3
    if (pairs == 3) {
        of_3(sums, w, x, count, flags, bias);
    }
#endif
#if KIBI_ADD_HALVES_OF_2
    if (pairs == 2) {
        of_2(sums, w, x, count, flags, bias);
    }
#endif
#if KIBI_ADD_HALVES_OF_1
    if (pairs == 1) {
        of_1(sums, w, x, count, flags, bias);
    }
#endif
}
