/* Values of packed indices, portable. Source of the encoding: TFLM, decompress_common.cc. */
#include "kibi_codebook_s8.h"

/* Indices of four bits, from a whole byte on: two in each byte. */
static inline void codebook_pairs(int8_t *to, const uint8_t *next, const int8_t *table, int32_t count)
{
    const int8_t *const end = to + (count & -2);
    while (to != end) {
        const uint32_t pair = *next++;
        *to++ = table[pair >> 4];
        *to++ = table[pair & 15u];
    }
    if (count % 2 != 0) {
        *to = table[*next >> 4];
    }
}

void kibi_codebook_s8(int8_t *to, const int8_t *indices, const int8_t *table, int32_t bits, int32_t first, int32_t count)
{
    const uint32_t place = (uint32_t)first * (uint32_t)bits;
    const uint8_t *next = (const uint8_t *)indices + place / 8u;
    const int8_t *const end = to + count;
    const uint32_t mask = (1u << bits) - 1u;
    uint32_t held;
    int32_t left;
    KIBI_ASSERT(bits >= 1 && bits <= 7 && count >= 1);
    if (bits == 4 && place % 8u == 0) {
        codebook_pairs(to, next, table, count);
        return;
    }
    held = *next++;
    left = 8 - (int32_t)(place % 8u);
    while (to != end) {
        if (left < bits) {
            held = held << 8 | *next++;
            left += 8;
        }
        left -= bits;
        *to++ = table[held >> left & mask];
    }
}
